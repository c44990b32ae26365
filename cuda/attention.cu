// Scaled dot-product attention on the GPU. Equation, shapes and errors: reference/attention.hpp.
//
//   v1  three passes     scores, probabilities, sums of values: all scores go through memory
//   v2  online softmax   in tiles of 64 queries and 64 keys, no scores in memory
//   v3  tensor cores     by mma.sync, of 16 bits: attention_mma.cu, attention_split.cu  <- launched
//   v4  wgmma and TMA    launched in its place on Hopper, as records say: attention_wgmma.cu
//   bf16x6               tensor cores for float32, by name only: attention_bf16x6.cu
//
// Counts of attention_causal, bfloat16: 2 heads of 64, 256 positions (docs/profile.md)
//       launches  sectors/load  sectors/store   moved  footprint  wavefronts  barriers  shuffles
//   v1         3   9.23 (1.53)    21.1 (3.85)     988        7.4           -         0         0
//   v2         2   2.18 (2.15)           1.99       2       1.03        3.48       320      3584
//   v3         2          12.9           8.53    1.25       1.03           3        28       512
//
// Measured on NVIDIA H200: v2 53.7 times as fast as v1, v3 5.85 times as fast as v2
// (attention_gpt2_causal, bfloat16).
#include "attention.cuh"

#include "attention_split.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "mask_tiles.cuh"
#include "reduce.cuh"
#include "types.cuh"
#include "workspace.cuh"

#include <cmath>

namespace prenorm::cuda {
namespace {

/// 1 / sqrt(d_k)
template <class T>
compute_t<T> scale_of(const Attention<T>& a) {
  return static_cast<compute_t<T>>(1 / std::sqrt(static_cast<double>(a.d_k)));  // step: scale
}

// ---- v1: three passes ---------------------------------------------------------------------------

/// One thread per score: q kᵀ / sqrt(d_k), -infinity where the query does not attend to the key.
template <class T>
__global__ void __launch_bounds__(256)
    scores_v1(Attention<T> a, compute_t<T> scale, compute_t<T>* scores) {
  const std::int64_t i = global_thread();
  const std::int64_t key = i % a.m, query = i / a.m % a.n, b = i / a.m / a.n;
  if (b >= a.batch.size) return;
  const T* q = a.q + a.batch.part(a.of_q, b) + query * a.q_stride;
  const T* k = a.k + a.batch.part(a.of_k, b) + key * a.k_stride;
  // step: scores
  compute_t<T> sum = 0;
  for (std::int64_t c = 0; c < a.d_k; ++c) sum += widen(q[c]) * widen(k[c]);
  // step: mask
  bool attends = !a.causal || key <= query;
  if (a.mask != nullptr) {
    attends = attends && a.mask[(a.batch.part(a.of_mask, b) * a.n + query) * a.m + key];
  }
  scores[i] = attends ? sum * scale : -INFINITY;  // step: scale
}

/// One thread per query: its scores become probabilities.
template <class C>
__global__ void __launch_bounds__(256)
    probabilities_v1(C* scores, std::int64_t queries, std::int64_t m) {
  const std::int64_t query = global_thread();
  if (query >= queries) return;
  C* score = scores + query * m;
  // step: maximum
  C largest = -INFINITY;
  for (std::int64_t j = 0; j < m; ++j) largest = Maximum()(largest, score[j]);
  if (largest == -INFINITY) largest = 0;
  // step: weights
  C sum = 0;
  for (std::int64_t j = 0; j < m; ++j) {
    score[j] = exp(score[j] - largest);
    sum += score[j];
  }
  if (sum == 0) sum = 1;
  for (std::int64_t j = 0; j < m; ++j) score[j] /= sum;
}

/// One thread per output: probabilities times values.
template <class T>
__global__ void __launch_bounds__(256)
    values_v1(Attention<T> a, const compute_t<T>* probabilities) {
  const std::int64_t i = global_thread();
  const std::int64_t column = i % a.d_v, query = i / a.d_v % a.n, b = i / a.d_v / a.n;
  if (b >= a.batch.size) return;
  const compute_t<T>* probability = probabilities + (b * a.n + query) * a.m;
  const T* v = a.v + a.batch.part(a.of_v, b) + column;
  // step: values
  compute_t<T> sum = 0;
  for (std::int64_t j = 0; j < a.m; ++j) sum += probability[j] * widen(v[j * a.v_stride]);
  a.y[a.batch.part(a.of_y, b) + query * a.y_stride + column] = narrow<T>(sum);
}

Workspace scores_memory("attention v1: scores");  // [batch, n, m]

}  // namespace

template <class T>
void attention_v1(const Attention<T>& a, Stream stream) {
  if (!has_outputs(a)) return;
  const std::int64_t queries = a.batch.size * a.n;
  auto* scores = scores_memory.get<compute_t<T>>(queries * a.m, stream);
  launch({"attention v1 scores", ceil_div(queries * a.m, 256), 256, stream}, scores_v1<T>, a,
         scale_of(a), scores);
  launch({"attention v1 probabilities", ceil_div(queries, 256), 256, stream},
         probabilities_v1<compute_t<T>>, scores, queries, a.m);
  launch({"attention v1 values", ceil_div(queries * a.d_v, 256), 256, stream}, values_v1<T>, a,
         scores);
}

// ---- v2: tiles with online softmax --------------------------------------------------------------
//
// A block of 64 queries goes over the keys, 64 at a time, and keeps a maximum, a sum and the
// values' sums, which are rescaled when the maximum grows. What follows holds for v3 and v4, too.
//
// Masks. A kernel first packs the mask into bits, and marks each tile of 64 x 64 entries as empty,
// full or mixed (mask_tiles.cu): empty ones are skipped, and bits are only read for mixed ones. A
// causal mask is not a tensor: no tile beyond the diagonal is visited.
//
// Hard values. A masked score is replaced by -infinity, whatever it was. Where the maximum of a
// query is -infinity, 0 is used instead: its probabilities are exp(-infinity) = 0, their sum is 0,
// and the result, divided by 1 instead of 0, is 0. NaN and +infinity make the maximum, and with it
// the whole row, NaN. A value that is not finite and that a query does not attend to makes its
// result NaN in v1, as 0 times it; from v2 on only if its tile is visited for a neighbour's sake.
// This is not specified, and to give one answer each result would have to be looked at again.
//
// The order of every sum depends only on n, m, d_k and d_v: a sequence gives the same bits alone
// and in a batch, and each time.

namespace {

constexpr int tile = mask_tile;  // queries of a block, and keys at a time
constexpr int depth = 16;        // terms of a product's sums between two barriers
constexpr int side = 16;         // a block is side x side threads
constexpr int each = tile / side;

/// A row of a tile, padded so that 16-byte accesses are aligned and neighbouring rows begin in
/// different banks.
template <class C>
using PaddedRow = C[tile + vector_width<C>];

/// A block's shared memory.
template <class C, int columns>
struct Shared {
  union {
    struct {
      PaddedRow<C> q[depth], k[depth];  // transposed: terms first
    };
    C v[depth][columns + side];  // padded: a warp writes 16 columns of two rows, to all banks
  };
  PaddedRow<C> p[tile];  // probabilities, but for their sum; at the end the result
};

/// Values that are aligned to their size, or to 16 bytes.
template <class C, int count>
__device__ void load_some(C (&to)[count], const C* from) {
  constexpr int N = count < vector_width<C> ? count : vector_width<C>;
#pragma unroll
  for (int i = 0; i < count; i += N) {
    const Vector<C, N> vector = load_vector<N>(from + i);
#pragma unroll
    for (int k = 0; k < N; ++k) to[i + k] = vector.element[k];
  }
}
template <class C, int count>
__device__ void store_some(C* to, const C (&from)[count]) {
  constexpr int N = count < vector_width<C> ? count : vector_width<C>;
#pragma unroll
  for (int i = 0; i < count; i += N) {
    Vector<C, N> vector;
#pragma unroll
    for (int k = 0; k < N; ++k) vector.element[k] = from[i + k];
    store_shared(to + i, vector);
  }
}

/// The rest of an extent from `first` on, at most `most`, as an int.
__device__ inline int left_of(std::int64_t extent, std::int64_t first, int most) {
  return static_cast<int>(min(extent - first, static_cast<std::int64_t>(most)));
}

/// Where row `row` of a tile is among those of a term. Threads write a row's 16 terms at once: of
/// every second eight of them the halves of each vector change places, which makes the banks of all
/// 16 differ (rows begin a vector further each time, and a vector of 16 bytes fills 1/8 of them).
template <class C>
__device__ constexpr int place(int row, int term) {
  return row ^ (term / 8 * (vector_width<C> / 2));
}

/// `depth` columns of `rows` of a tile's rows, widened; 0 for the other rows, and from `columns`
/// on. Neighbouring threads take neighbouring columns.
template <class T>
__device__ void load_transposed(PaddedRow<compute_t<T>> (&to)[depth], const T* from,
                                std::int64_t stride, int rows, int columns) {
  using C = compute_t<T>;
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  C* const first = &to[x][place<C>(y, x)];
#pragma unroll
  for (int row = 0; row < tile; row += side) {
    const bool there = y + row < rows && x < columns;
    first[row] = there ? widen(from[(y + row) * stride + x]) : C(0);
  }
}

/// Writes a warp's part of the result, its queries in rows of shared memory, with neighbouring
/// lanes at neighbouring columns.
template <class T>
__device__ void store_rows(T* to, std::int64_t stride, int rows, int columns,
                           const PaddedRow<compute_t<T>>* from, int width) {
  const int lane = static_cast<int>(threadIdx.y * side + threadIdx.x) % 32;
  for (int row = 0; row < rows; ++row) {
    for (int column = lane; column < width; column += 32) {
      const T value = narrow<T>(from[row][column]);
      if (column < columns) to[row * stride + column] = value;
    }
  }
}

/// Blocks that share a multiprocessor by their registers.
template <class C>
constexpr int blocks_together = sizeof(C) == 8 ? 1 : 2;

/// A block takes 64 queries of the range first ... end - 1 and `width` columns of v: 32, 64 or 128.
/// Thread (x, y) has the scores of queries 4y ... 4y + 3 with keys 4x ... 4x + 3 of a tile, and of
/// the same queries as many columns as one access reads, and those that are 16 times as many
/// further: in float32 4x ... 4x + 3, and every 64th after them; of 32 columns 2x and 2x + 1.
template <class T, int width>
__global__ void __launch_bounds__(side* side, blocks_together<compute_t<T>>)
    attend_v2(Attention<T> a, MaskTiles mask, std::int64_t first, std::int64_t end,
              compute_t<T> scale) {
  using C = compute_t<T>;
  constexpr int own = width / side;  // columns of a thread
  constexpr int together = own < vector_width<C> ? own : vector_width<C>;
  Shared<C, width>& shared = *dynamic_shared<Shared<C, width>>();
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t slices = ceil_div(a.d_v, width), query_tiles = ceil_div(end - first, tile);
  // The last queries come first: under a causal mask they have the most work.
  const std::int64_t query_tile = query_tiles - 1 - blockIdx.x / slices % query_tiles;
  const std::int64_t b = blockIdx.x / slices / query_tiles;
  const std::int64_t first_query = first + query_tile * tile;
  const std::int64_t first_column = blockIdx.x % slices * width;
  const T* q = a.q + a.batch.part(a.of_q, b) + first_query * a.q_stride;
  const T* k = a.k + a.batch.part(a.of_k, b);
  const T* v = a.v + a.batch.part(a.of_v, b) + first_column;
  const int queries = left_of(end, first_query, tile);
  const int columns = left_of(a.d_v, first_column, width);
  const std::int64_t which_mask = a.batch.part(a.of_mask, b);

  C largest[each], sum[each], out[each][own] = {};  // sum: of this thread's keys alone
#pragma unroll
  for (int i = 0; i < each; ++i) {
    largest[i] = -INFINITY;
    sum[i] = 0;
  }
  const std::int64_t end_key = a.causal ? min(a.m, first_query + tile) : a.m;
  for (std::int64_t first_key = 0; first_key < end_key; first_key += tile) {
    const TileKind kind = mask.kind(which_mask, query_tile, first_key / tile);
    if (kind == TileKind::empty) continue;
    const int keys = left_of(a.m, first_key, tile);
    // Under a causal mask the tile's query i attends to its keys up to diagonal + i.
    const int diagonal = a.causal ? left_of(first_query, first_key, tile) : tile;

    // step: scores
    C score[each][4] = {};
    for (std::int64_t c = 0; c < a.d_k; c += depth) {
      const int terms = left_of(a.d_k, c, depth);
      load_transposed(shared.q, q + c, a.q_stride, queries, terms);
      load_transposed(shared.k, k + first_key * a.k_stride + c, a.k_stride, keys, terms);
      __syncthreads();
#pragma unroll
      for (int term = 0; term < depth; ++term) {
        C of_q[4], of_k[4];
        load_some(of_q, &shared.q[term][4 * y]);
        load_some(of_k, &shared.k[term][4 * x]);
#pragma unroll
        for (int i = 0; i < each; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            score[i][j] += of_q[place<C>(i, term)] * of_k[place<C>(j, term)];
          }
        }
      }
      __syncthreads();  // all have read the tiles before the next ones replace them
    }

    // Not Maximum: that is one instruction, with which ptxas runs out of registers here.
    const auto larger = [](C one, C other) { return one > other || one != one ? one : other; };
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int query = 4 * y + i;  // of the tile
      // step: mask
      unsigned long long attended = ~0ull;
      if (kind == TileKind::mixed) {
        attended = mask.rows(which_mask, query_tile, first_key / tile)[query];
      }
      const int end_of_row = min(keys, diagonal + query + 1);
      // step: mask, maximum
      C tile_largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int key = 4 * x + j;
        if (key >= end_of_row || (attended >> key & 1) == 0) score[i][j] = -INFINITY;
        tile_largest = larger(tile_largest, score[i][j]);
      }
      // step: maximum
      // 16 neighbours of a warp have the same queries.
      const C now = larger(largest[i], warp_reduce(tile_largest, larger, side));
      const C shift = now == -INFINITY ? C(0) : now;
      // The sums so far were of exp(score - largest).
      const C correction = exp((largest[i] - shift) * scale);  // step: scale
      largest[i] = now;
      sum[i] *= correction;
#pragma unroll
      for (int c = 0; c < own; ++c) out[i][c] *= correction;
#pragma unroll
      // step: weights
      for (int j = 0; j < 4; ++j) {
        score[i][j] = exp((score[i][j] - shift) * scale);  // step: scale
        sum[i] += score[i][j];
      }
      store_some(&shared.p[4 * y + i][4 * x], score[i]);
    }

    // step: values
#pragma unroll 1
    for (int group = 0; group < tile; group += depth) {  // of keys
      const bool there = group + y < keys;
      const T* from = v + (first_key + group + y) * a.v_stride + x;
#pragma unroll
      for (int c = 0; c < own; ++c) {
        const bool in_row = there && x + side * c < columns;
        shared.v[y][x + side * c] = in_row ? widen(from[side * c]) : C(0);
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < depth; j += 4) {
        C p[each][4];
#pragma unroll
        for (int i = 0; i < each; ++i) load_some(p[i], &shared.p[4 * y + i][group + j]);
#pragma unroll
        for (int first_own = 0; first_own < own; first_own += together) {
#pragma unroll
          for (int of_four = 0; of_four < 4; ++of_four) {
            C values[together];
            load_some(values, &shared.v[j + of_four][side * first_own + together * x]);
#pragma unroll
            for (int i = 0; i < each; ++i) {
#pragma unroll
              for (int c = 0; c < together; ++c) {
                out[i][first_own + c] += p[i][of_four] * values[c];
              }
            }
          }
        }
      }
      __syncthreads();
    }
  }

#pragma unroll
  for (int i = 0; i < each; ++i) {
    // step: weights
    const C total = warp_reduce(sum[i], Sum(), side);
    const C divisor = total == 0 ? C(1) : total;
#pragma unroll
    for (int c = 0; c < own; ++c) out[i][c] /= divisor;
  }
  // By way of p, where a warp's rows are its own: a thread's columns lie side by side, and stored
  // by it would fill their sectors in several requests.
  const int first_row = 4 * (y - y % 2);  // of the warp
  T* const to = a.y + a.batch.part(a.of_y, b) + (first_query + first_row) * a.y_stride;
#pragma unroll
  for (int first_own = 0; first_own < own; first_own += together) {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      C part[together];
#pragma unroll
      for (int c = 0; c < together; ++c) part[c] = out[i][first_own + c];
      store_some(&shared.p[4 * y + i][together * x], part);
    }
    __syncwarp();
    const int column = side * first_own;
    store_rows(to + first_column + column, a.y_stride, min(2 * each, queries - first_row),
               columns - column, &shared.p[first_row], side * together);
    __syncwarp();
  }
}

template <int width, class T>
void launch_attend_v2(const Attention<T>& a, Stream stream) {
  for_query_ranges(
      a.mask, a.masks, a.n, a.m, stream,
      [&](std::int64_t first, std::int64_t count, const MaskTiles& mask) {
        const std::int64_t blocks = a.batch.size * ceil_div(count, tile) * ceil_div(a.d_v, width);
        launch(
            {"attention v2", blocks, dim3(side, side), stream, sizeof(Shared<compute_t<T>, width>)},
            attend_v2<T, width>, a, mask, first, first + count, scale_of(a));
      });
}

}  // namespace

template <class T>
void attention_v2(const Attention<T>& a, Stream stream) {
  if (!has_outputs(a)) return;
  if (a.d_v <= 32) {
    launch_attend_v2<32>(a, stream);
  } else if (a.d_v <= 64) {
    launch_attend_v2<64>(a, stream);
  } else {  // columns beyond 128 go to further blocks, which compute the scores again
    launch_attend_v2<128>(a, stream);
  }
}

template <class T>
void attention_launched(const Attention<T>& a, Stream stream) {
  if (!has_outputs(a)) return;
  if (splits_keys(a) && attention_split(a, stream)) return;
#if defined(PRENORM_ATTENTION_WGMMA)  // a record says that it passed
  if (attention_wgmma(a, stream)) return;
#endif
  if (attention_mma(a, stream)) return;
  attention_v2(a, stream);
}

#define PRENORM_ATTENTIONS(T)                                 \
  template void attention_v1<T>(const Attention<T>&, Stream); \
  template void attention_v2<T>(const Attention<T>&, Stream); \
  template void attention_launched<T>(const Attention<T>&, Stream);
PRENORM_ATTENTIONS(double)
PRENORM_ATTENTIONS(float)
PRENORM_ATTENTIONS(float16)
PRENORM_ATTENTIONS(bfloat16)
#undef PRENORM_ATTENTIONS

namespace {

/// scaled_dot_product_attention by one of these versions.
template <auto attend, class T>
void attention_by(View<const T> q, View<const T> k, View<const T> v,
                  const std::optional<View<const bool>>& mask, Stream stream, View<T> y) {
  attend(attention_of(q, k, v, mask, y), stream);
}

template <class T>
void launch_attention_v1(View<const T> q, View<const T> k, View<const T> v,
                         std::optional<View<const bool>> mask, Stream stream, View<T> y) {
  attention_by<attention_v1<T>>(q, k, v, mask, stream, y);
}
template <class T>
void launch_attention_v2(View<const T> q, View<const T> k, View<const T> v,
                         std::optional<View<const bool>> mask, Stream stream, View<T> y) {
  attention_by<attention_v2<T>>(q, k, v, mask, stream, y);
}
template <class T>
[[maybe_unused]] void launch_attention_v3(View<const T> q, View<const T> k, View<const T> v,
                                          std::optional<View<const bool>> mask, Stream stream,
                                          View<T> y) {
  const Attention<T> a = attention_of(q, k, v, mask, y);
  if (has_outputs(a) && !attention_mma(a, stream)) {
    throw not_implemented("attention v3 takes float16 and bfloat16 with d_k and d_v up to 256");
  }
}
template <class T>
void launch_attention(View<const T> q, View<const T> k, View<const T> v,
                      std::optional<View<const bool>> mask, Stream stream, View<T> y) {
  attention_by<attention_launched<T>>(q, k, v, mask, stream, y);
}

}  // namespace

PRENORM_CUDA_EXPORT(scaled_dot_product_attention, launch_attention_v1, launch_attention)
PRENORM_CUDA_VARIANT(scaled_dot_product_attention, v2, launch_attention_v2)
#if defined(PRENORM_ATTENTION_WGMMA)  // else it is the launched one
PRENORM_CUDA_FUNCTION(scaled_dot_product_attention__v3, launch_attention_v3)
#endif

}  // namespace prenorm::cuda
