// Version 3 of attention (attention.cu): on tensor cores, for float16 and bfloat16. Equation,
// shapes and errors: reference/attention.hpp.
//
// As in v2 a block of queries goes over the keys, 64 at a time, with online softmax. What v3
// changes:
//
//   products by mma.sync          both of them; sums in float32. Probabilities are rounded to T for
//                                 the product with v, and for nothing else
//   scores stay in registers      the layout of a product's result is that of the next one's left
//                                 operand: probabilities never go through shared memory
//   32 queries a warp             (16 where d is more than 128) what is read of k and v serves two
//                                 products, or shared memory would be slower than the tensor cores
//   copies by cp.async            v's tile comes while the scores are computed, k's next one while
//                                 the values are summed; no thread's registers lie between
//   exp2 for exp                  log2(e) / sqrt(d_k) goes into the one multiply-add before it
//
// The two tiles of k and v, that of q, and the result on its way out lie in shared memory in chunks
// of 16 bytes, chunk c of row r at place c ^ (r % 8): eight rows of one column, which ldmatrix
// reads at once, are in different banks, and so are the chunks of a row, which cp.async writes.
//
// Rows that are not aligned to 16 bytes are loaded element by element; all else is the same.
//
// Not yet run on a device; what each change gives is not yet measured.
#include "attention.cuh"

#include "launch.cuh"
#include "mask_tiles.cuh"
#include "mma.cuh"
#include "types.cuh"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prenorm::cuda {
namespace {

constexpr int keys = mask_tile;  // of a tile
constexpr int warps = 4, threads = 32 * warps;
constexpr unsigned whole_warp = 0xffffffffu;

/// Rows of 16 queries that a warp has, and queries of a block; D is d_k and d_v rounded up.
template <int D>
constexpr int row_tiles = D <= 128 ? 2 : 1;
template <int D>
constexpr int queries = warps * 16 * row_tiles<D>;

/// What a block shares.
template <class T, int D>
struct Shared {
  T q[queries<D> * D];  // later y; a warp's rows are its own
  T k[keys * D], v[keys * D];
};

/// Where a chunk of 8 elements lies in a tile of rows of D.
template <int D>
__device__ int place(int row, int chunk) {
  return row * D + (chunk ^ (row & 7)) * 8;
}

/// The first `rows` of a tile's rows, `columns` of each; the others, and what lies beyond, are 0:
/// whatever is there must not get into a sum. With `aligned` the copies are only begun.
template <int D, int tile_rows, bool aligned, class T>
__device__ void load_tile(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  constexpr int chunks = D / 8, step = threads / chunks;
  const int thread = static_cast<int>(threadIdx.x), chunk = thread % chunks;
  const int first = thread / chunks, there = max(0, min(8, columns - 8 * chunk));
  from += first * stride + 8 * chunk;
#pragma unroll
  for (int i = 0; i < tile_rows; i += step) {
    T* const to = tile + place<D>(first + i, chunk);
    const int elements = first + i < rows ? there : 0;
    if constexpr (aligned) {
      copy_async(to, from + i * stride, elements * static_cast<int>(sizeof(T)));
    } else {
      Vector<T, 8> vector = {};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        if (e < elements) vector.element[e] = from[i * stride + e];
      }
      store_vector(to, vector);
    }
  }
}

/// score = q kᵀ, of the warp's queries, whose first row is `first_row`.
template <int D, class T, int M>
__device__ void multiply_keys(float (&score)[M][keys / 8][4], const Shared<T, D>& shared,
                              int first_row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {  // 16 columns of q and k
    unsigned q[M][4];
#pragma unroll
    for (int i = 0; i < M; ++i) {
      ldmatrix(q[i], shared.q + place<D>(first_row + 16 * i + lane % 16, 2 * step + lane / 16));
    }
#pragma unroll
    for (int j = 0; j < keys / 8; j += 2) {
      unsigned k[4];  // 8 keys with 16 columns, and the next 8
      ldmatrix(k, shared.k + place<D>(8 * j + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < M; ++i) {
        mma<T>(score[i][j], q[i], k[0], k[1]);
        mma<T>(score[i][j + 1], q[i], k[2], k[3]);
      }
    }
  }
}

/// out += p v, p rounded to T.
template <int D, class T, int M>
__device__ void add_values(float (&out)[M][D / 8][4], const float (&p)[M][keys / 8][4],
                           const Shared<T, D>& shared) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 0; step < keys / 16; ++step) {  // 16 keys
    unsigned a[M][4];
#pragma unroll
    for (int i = 0; i < M; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float(&c)[4] = p[i][2 * step + half];
        a[i][2 * half] = pack<T>(c[0], c[1]);
        a[i][2 * half + 1] = pack<T>(c[2], c[3]);
      }
    }
#pragma unroll
    for (int j = 0; j < D / 8; j += 2) {
      unsigned v[4];  // 16 keys with 8 columns, and the next 8
      ldmatrix_transposed(v, shared.v + place<D>(16 * step + lane % 16, j + lane / 16));
#pragma unroll
      for (int i = 0; i < M; ++i) {
        mma<T>(out[i][j], a[i], v[0], v[1]);
        mma<T>(out[i][j + 1], a[i], v[2], v[3]);
      }
    }
  }
}

/// Online softmax, two rows to each of a thread's M tiles: their maxima, times the scale, and of
/// their sums the part of this thread's keys.
template <int M>
struct Rows {
  float largest[M][2], sum[M][2];
};

/// Scores become probabilities, but for their sum, and what was summed before is scaled to them.
/// fmaxf leaves out NaN: but a NaN is a probability in its row's sum.
template <int M, int columns>
__device__ void online_softmax(float (&score)[M][keys / 8][4], Rows<M>& rows,
                               float (&out)[M][columns][4], float scale) {
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
        largest = fmaxf(largest, fmaxf(score[i][j][2 * r], score[i][j][2 * r + 1]));
      }
      // A row is four neighbours'.
      largest = fmaxf(largest, __shfl_xor_sync(whole_warp, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(whole_warp, largest, 2));
      largest = fmaxf(rows.largest[i][r], largest * scale);
      const float shift = largest == -INFINITY ? 0.0f : largest;
      const float correction = exp2_fast(rows.largest[i][r] - shift);
      rows.largest[i][r] = largest;
      float sum = rows.sum[i][r] * correction;
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
#pragma unroll
        for (int c = 2 * r; c < 2 * r + 2; ++c) {
          score[i][j][c] = exp2_fast(fmaf(score[i][j][c], scale, -shift));
          sum += score[i][j][c];
        }
      }
      rows.sum[i][r] = sum;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        out[i][j][2 * r] *= correction;
        out[i][j][2 * r + 1] *= correction;
      }
    }
  }
}

/// Which keys the queries of a warp see.
struct Visible {
  MaskTiles tiles;
  std::int64_t mask;   // of the tiles
  std::int64_t row;    // the warp's first query, counted from the tiles' first
  std::int64_t query;  // the same, counted from the first of all
  std::int64_t m;
  bool causal;

  /// None, all, or some of a tile's keys, for the warp's first `rows` queries.
  __device__ TileKind kind(std::int64_t tile, int rows) const {
    if (rows <= 0 || (causal && tile * keys >= query + rows)) return TileKind::empty;
    const TileKind kind = tiles.kind(mask, row / mask_tile, tile);
    const std::int64_t end = (tile + 1) * keys;
    const bool cut = end > m || (causal && end > query + 1);
    return kind == TileKind::full && cut ? TileKind::mixed : kind;
  }

  /// A bit a key of a tile, for query `i` of the warp.
  __device__ unsigned long long bits(std::int64_t tile, int i) const {
    const std::int64_t end = (causal ? min(m, query + i + 1) : m) - tile * keys;
    unsigned long long bits = ~0ull;
    if (end < keys) bits = end <= 0 ? 0 : bits >> (keys - end);
    if (tiles.kinds != nullptr) bits &= tiles.row(mask, row + i, tile);
    return bits;
  }
};

/// -infinity for the keys of a tile that are not visible.
template <int M>
__device__ void mask_scores(float (&score)[M][keys / 8][4], const Visible& visible,
                            std::int64_t tile) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const unsigned long long bits = visible.bits(tile, 16 * i + 8 * r + lane / 4) >> lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
        if ((bits >> 8 * j & 1) == 0) score[i][j][2 * r] = -INFINITY;
        if ((bits >> 8 * j & 2) == 0) score[i][j][2 * r + 1] = -INFINITY;
      }
    }
  }
}

/// The first tile of keys from `tile` to `end` that is not empty for all of a block's queries,
/// whose first row is `row`; `end` where there is none. The lanes of a warp look at 32 at once.
template <int D>
__device__ std::int64_t next_tile(const MaskTiles& tiles, std::int64_t mask, std::int64_t row,
                                  std::int64_t tile, std::int64_t end) {
  if (tiles.kinds == nullptr) return tile;
  for (; tile < end; tile += 32) {
    const std::int64_t candidate = tile + threadIdx.x % 32;
    bool wanted = false;
    for (int i = 0; i < queries<D> && candidate < end; i += mask_tile) {
      wanted = wanted || tiles.kind(mask, (row + i) / mask_tile, candidate) != TileKind::empty;
    }
    const unsigned votes = __ballot_sync(whole_warp, wanted);
    if (votes != 0) return tile + __ffs(static_cast<int>(votes)) - 1;
  }
  return end;
}

/// y of a warp's queries, `rows` of them, by way of the rows that q had.
template <int D, bool aligned, class T, int M>
__device__ void store_rows(T* y, std::int64_t stride, int rows, int columns, T* tile, int first_row,
                           const float (&out)[M][D / 8][4], const Rows<M>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = sums.sum[i][r];
      sum += __shfl_xor_sync(whole_warp, sum, 1);
      sum += __shfl_xor_sync(whole_warp, sum, 2);
      const float scale = sum == 0 ? 1.0f : 1 / sum;
      const int row = first_row + 16 * i + 8 * r + lane / 4;
#pragma unroll
      for (int j = 0; j < D / 8; ++j) {
        *reinterpret_cast<unsigned*>(tile + place<D>(row, j) + lane % 4 * 2) =
            pack<T>(out[i][j][2 * r] * scale, out[i][j][2 * r + 1] * scale);
      }
    }
  }
  __syncwarp();
  constexpr int chunks = D / 8;
#pragma unroll 4
  for (int at = lane; at < 16 * M * chunks; at += 32) {
    const int row = at / chunks, chunk = at % chunks, elements = columns - 8 * chunk;
    if (row >= rows || elements <= 0) continue;
    const Vector<T, 8> vector = load_vector<8>(tile + place<D>(first_row + row, chunk));
    T* const to = y + row * stride + 8 * chunk;
    if (aligned && elements >= 8) {
      store_vector(to, vector);
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        if (e < elements) to[e] = vector.element[e];
      }
    }
  }
}

/// A block takes queries<D> queries of the range first ... end - 1. `scale` is for powers of 2.
template <class T, int D, bool aligned>
__global__ void __launch_bounds__(threads, D == 64    ? 3
                                           : D == 128 ? 2
                                                      : 1)
    attend_mma(Attention<T> a, MaskTiles tiles, std::int64_t first, std::int64_t end, float scale) {
  constexpr int M = row_tiles<D>;
  Shared<T, D>& shared = *dynamic_shared<Shared<T, D>>();
  const std::int64_t blocks_of_queries = ceil_div(end - first, queries<D>);
  // The last queries come first: under a causal mask they have the most to do.
  const std::int64_t row = (blocks_of_queries - 1 - blockIdx.x % blocks_of_queries) * queries<D>;
  const std::int64_t b = blockIdx.x / blocks_of_queries, query = first + row;
  const int rows = static_cast<int>(min(end - query, std::int64_t{queries<D>}));
  const T* k = a.k + a.batch.part(a.of_k, b);
  const T* v = a.v + a.batch.part(a.of_v, b);
  const int d_k = static_cast<int>(a.d_k), d_v = static_cast<int>(a.d_v);
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16 * M;  // of the warp
  const Visible visible{
      tiles, a.batch.part(a.of_mask, b), row + first_row, query + first_row, a.m, a.causal};

  const auto load_keys = [&](std::int64_t tile) {
    const int there = static_cast<int>(min(a.m - tile * keys, std::int64_t{keys}));
    load_tile<D, keys, aligned>(shared.k, k + tile * keys * a.k_stride, a.k_stride, there, d_k);
    commit_copies();
  };
  const auto load_values = [&](std::int64_t tile) {
    const int there = static_cast<int>(min(a.m - tile * keys, std::int64_t{keys}));
    load_tile<D, keys, aligned>(shared.v, v + tile * keys * a.v_stride, a.v_stride, there, d_v);
    commit_copies();
  };

  float out[M][D / 8][4] = {};
  Rows<M> softmax;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    softmax.largest[i][0] = softmax.largest[i][1] = -INFINITY;
    softmax.sum[i][0] = softmax.sum[i][1] = 0;
  }
  const std::int64_t end_tile = ceil_div(a.causal ? min(a.m, query + rows) : a.m, keys);
  std::int64_t tile = next_tile<D>(tiles, visible.mask, row, 0, end_tile);
  if (tile < end_tile) {
    const T* const q = a.q + a.batch.part(a.of_q, b) + query * a.q_stride;
    load_tile<D, queries<D>, aligned>(shared.q, q, a.q_stride, rows, d_k);
    load_keys(tile);
  }
  while (tile < end_tile) {
    wait_for_copies<0>();
    __syncthreads();  // k is there, and none reads v any more
    load_values(tile);
    const TileKind kind = visible.kind(tile, min(rows - first_row, 16 * M));
    float score[M][keys / 8][4] = {};
    if (kind != TileKind::empty) {
      multiply_keys<D>(score, shared, first_row);
      if (kind == TileKind::mixed) mask_scores(score, visible, tile);
      online_softmax(score, softmax, out, scale);
    }
    wait_for_copies<0>();
    __syncthreads();  // v is there, and none reads k any more
    tile = next_tile<D>(tiles, visible.mask, row, tile + 1, end_tile);
    if (tile < end_tile) load_keys(tile);
    if (kind != TileKind::empty) add_values<D>(out, score, shared);
  }
  T* const y = a.y + a.batch.part(a.of_y, b) + (query + first_row) * a.y_stride;
  store_rows<D, aligned>(y, a.y_stride, rows - first_row, d_v, shared.q, first_row, out, softmax);
}

template <class T, int D, bool aligned>
void launch_attend(const Attention<T>& a, Stream stream) {
  const auto scale =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(a.d_k)));
  for_query_ranges(a.mask, a.masks, a.n, a.m, stream,
                   [&](std::int64_t first, std::int64_t count, const MaskTiles& tiles) {
                     launch({"attention v3", a.batch.size * ceil_div(count, queries<D>), threads,
                             stream, sizeof(Shared<T, D>)},
                            attend_mma<T, D, aligned>, a, tiles, first, first + count, scale);
                   });
}

/// Whether each row of each tensor begins at a multiple of 16 bytes.
template <class T>
bool rows_are_aligned(const Attention<T>& a) {
  const auto aligned = [&](const T* data, std::int64_t stride, int tensor) {
    bool all = reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % vector_width<T> == 0;
    for (int axis = 0; axis < a.batch.count; ++axis) {
      all = all && a.batch.stride[tensor][axis] % vector_width<T> == 0;
    }
    return all;
  };
  return aligned(a.q, a.q_stride, a.of_q) && aligned(a.k, a.k_stride, a.of_k) &&
         aligned(a.v, a.v_stride, a.of_v) && aligned(a.y, a.y_stride, a.of_y);
}

template <int D, class T>
void launch_attend(const Attention<T>& a, Stream stream) {
  rows_are_aligned(a) ? launch_attend<T, D, true>(a, stream)
                      : launch_attend<T, D, false>(a, stream);
}

}  // namespace

template <class T>
bool attention_mma(const Attention<T>& a, Stream stream) {
#if defined(PRENORM_CUDA_NAIVE)  // which launches v1 alone
  constexpr bool takes = false;
#else
  constexpr bool takes = sizeof(T) == 2;
#endif
  if constexpr (takes) {
    const std::int64_t d = std::max(a.d_k, a.d_v);
    if (d > 256) return false;
    if (d <= 64) {
      launch_attend<64>(a, stream);
    } else if (d <= 128) {
      launch_attend<128>(a, stream);
    } else {
      launch_attend<256>(a, stream);
    }
  }
  return takes;
}

template bool attention_mma<double>(const Attention<double>&, Stream);
template bool attention_mma<float>(const Attention<float>&, Stream);
template bool attention_mma<float16>(const Attention<float16>&, Stream);
template bool attention_mma<bfloat16>(const Attention<bfloat16>&, Stream);

}  // namespace prenorm::cuda
