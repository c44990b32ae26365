// Attention bf16x6 (attention.cu): v3's way for float32, about as accurate as v2. Equation, shapes
// and errors: reference/attention.hpp. How it differs from v3:
//
//   operands in three parts     of bfloat16 (bf16x6.cuh): q, k and v are split once by a block, on
//                               their way to shared memory, the probabilities in registers
//   tiles of 32 keys            half of v's comes, in registers, while half of the scores are
//                               computed, half of k's next while half of the values are summed
//   plain sums for the rest     what is not finite, or too large for bfloat16, makes its query's
//                               result not finite: it is computed again by plain sums, from the
//                               keys that the query attends to alone
//
// Of elements below 2^-110 the parts have fewer bits than float32.
#include "attention_bf16x6.cuh"

#include "attention_mma.cuh"
#include "bf16x6.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "reduce.cuh"

namespace prenorm::cuda {
namespace {

constexpr int keys = 32;  // of a tile
constexpr int half_tile = keys / 2;
constexpr int warps = 4, threads = 32 * warps;

/// Rows of 16 queries that a warp has, and queries of a block; D is d_k and d_v rounded up.
template <int D>
constexpr int row_tiles = D <= 64 ? 2 : 1;
template <int D>
constexpr int queries = warps * 16 * row_tiles<D>;

/// Tiles of eight keys or columns whose products are computed side by side: with a warp's queries
/// four, as the six of each wait for each other.
template <int M>
constexpr int together = 4 / M;

/// A block's shared memory: the parts of q, k and v, in chunks of eight elements.
template <int D>
struct Shared {
  alignas(16) bfloat16 q[bf16_parts][queries<D> * D];
  bfloat16 k[bf16_parts][keys * D], v[bf16_parts][keys * D];
  BlockWork work;
};

/// A thread's part of some rows, on its way from global to shared memory: four columns of every 32,
/// of every 16th row.
template <int D, int rows>
using Moving = Vector<float, 4>[rows / 16][D / 32];

__device__ inline int row_of_thread() { return static_cast<int>(threadIdx.x / 8); }
__device__ inline int column_of_thread() { return static_cast<int>(threadIdx.x % 8 * 4); }

/// Begins to load the first `there` rows of a tile, `columns` of each. The rest is 0, so that it
/// does not change the sums.
template <int D, int rows, bool aligned>
__device__ void load_tile(Moving<D, rows>& to, const float* from, std::int64_t stride, int there,
                          int columns) {
  from += row_of_thread() * stride + column_of_thread();
  there -= row_of_thread();
  columns -= column_of_thread();
#pragma unroll
  for (int row = 0; row < rows; row += 16) {
#pragma unroll
    for (int column = 0; column < D; column += 32) {
      auto& four = to[row / 16][column / 32];
      const float* const at = from + row * stride + column;
      if constexpr (aligned) {
        four = load_vector_where<4>(row < there && column < columns, at);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          four.element[e] = row < there && column + e < columns ? at[e] : 0;
        }
      }
    }
  }
}

/// Splits what was loaded, of rows from `first` on, a multiple of 8.
template <int D, int rows, int elements>
__device__ void store_parts(bfloat16 (&to)[bf16_parts][elements], Moving<D, rows>& from,
                            int first) {
#pragma unroll
  for (int row = 0; row < rows; row += 16) {
#pragma unroll
    for (int column = 0; column < D; column += 32) {
      auto& x = from[row / 16][column / 32].element;
#if defined(__CUDACC__)
      // Not earlier: else it would wait for the load before the products that hide it.
      asm volatile("" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]));
#endif
      unsigned left[bf16_parts], right[bf16_parts];
      split(left, x[0], x[1]);
      split(right, x[2], x[3]);
      const int chunk = (column_of_thread() + column) / 8, at = column_of_thread() % 8;
#pragma unroll
      for (int part = 0; part < bf16_parts; ++part) {
        bfloat16* const here = to[part] + place<D>(row_of_thread(), chunk) + (first + row) * D + at;
        *reinterpret_cast<std::uint64_t*>(here) = left[part] | std::uint64_t{right[part]} << 32;
      }
    }
  }
}

/// score += q kᵀ for half of the columns, of the warp's queries, whose first row is `first_row`.
template <int D, int M>
__device__ void multiply_keys(float (&score)[M][keys / 8][4], const Shared<D>& shared,
                              int first_row, int half) {
  // step: scores
  const int lane = static_cast<int>(static_cast<unsigned>(thread_anew()) % 32);
#pragma unroll 2 / M
  for (int chunk = half * D / 16; chunk < (half + 1) * D / 16; chunk += 2) {  // 16 columns
    unsigned q[M][bf16_parts][4];
#pragma unroll
    for (int part = 0; part < bf16_parts; ++part) {
#pragma unroll
      for (int i = 0; i < M; ++i) {
        ldmatrix(q[i][part],
                 shared.q[part] + place<D>(first_row + lane % 16, chunk + lane / 16) + 16 * i * D);
      }
    }
#pragma unroll
    for (int first = 0; first < keys / 8; first += together<M>) {
      unsigned k[together<M>][bf16_parts][2];
#pragma unroll
      for (int part = 0; part < bf16_parts; ++part) {
#pragma unroll
        for (int j = 0; j < together<M>; j += 2) {
          unsigned both[4];  // 8 keys with 16 columns, and the next 8
          ldmatrix(both, shared.k[part] + place<D>(lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2) +
                             8 * (first + j) * D);
#pragma unroll
          for (int e = 0; e < 4; ++e) k[j + e / 2][part][e % 2] = both[e];
        }
      }
#pragma unroll
      for (int i = 0; i < M; ++i) {
        mma_bf16x6<together<M>>(
            score[i] + first, [&](int) -> auto& { return q[i]; },
            [&](int j) -> auto& { return k[j]; });
      }
    }
  }
}

/// out += p v for 16 of the keys, from 8 * step on.
template <int D, int M>
__device__ void add_values(float (&out)[M][D / 8][4], const float (&p)[M][keys / 8][4],
                           const Shared<D>& shared, int step) {
  // step: values
  const int lane = static_cast<int>(static_cast<unsigned>(thread_anew()) % 32);
  unsigned left[M][bf16_parts][4];
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float* const pair = p[i][step + e / 2] + e % 2 * 2;
      unsigned parts[bf16_parts];
      split(parts, pair[0], pair[1]);
#pragma unroll
      for (int part = 0; part < bf16_parts; ++part) left[i][part][e] = parts[part];
    }
  }
#pragma unroll
  for (int first = 0; first < D / 8; first += together<M>) {
    unsigned v[together<M>][bf16_parts][2];
#pragma unroll
    for (int part = 0; part < bf16_parts; ++part) {
#pragma unroll
      for (int j = 0; j < together<M>; j += 2) {
        unsigned both[4];  // 16 keys with 8 columns, and the next 8
        ldmatrix_transposed(
            both, shared.v[part] + place<D>(lane % 16, first + j + lane / 16) + 8 * step * D);
#pragma unroll
        for (int e = 0; e < 4; ++e) v[j + e / 2][part][e % 2] = both[e];
      }
    }
#pragma unroll
    for (int i = 0; i < M; ++i) {
      mma_bf16x6<together<M>>(
          out[i] + first, [&](int) -> auto& { return left[i]; },
          [&](int j) -> auto& { return v[j]; });
    }
  }
}

/// Turns scores into probabilities, not yet divided by their sum; earlier sums are rescaled. fmaxf
/// ignores NaN, but a NaN score makes the row's sum NaN.
template <int M, int columns>
__device__ void online_softmax(float (&score)[M][keys / 8][4], Rows<M>& rows,
                               float (&out)[M][columns][4], float scale) {
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // step: maximum
      float largest = rows.largest[i][r];
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
        largest = fmaxf(largest, fmaxf(score[i][j][2 * r], score[i][j][2 * r + 1]));
      }
      largest = largest_of_row(largest);
      const float shift = largest == -INFINITY ? 0.0f : largest;
      const float correction = exp2_fast((rows.largest[i][r] - shift) * scale);  // step: scale
      rows.largest[i][r] = largest;
      float sum = rows.sum[i][r] * correction;
      // step: weights
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
#pragma unroll
        for (int e = 2 * r; e < 2 * r + 2; ++e) {
          score[i][j][e] = exp2_fast((score[i][j][e] - shift) * scale);  // step: scale
          sum += score[i][j][e];
        }
      }
      rows.sum[i][r] = sum;
      // step: maximum
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        out[i][j][2 * r] *= correction;
        out[i][j][2 * r + 1] *= correction;
      }
    }
  }
}

/// Query `row` of the block by float32's own instructions, by a warp: two passes over the keys, 32
/// at a time.
template <int D>
__device__ void attend_plainly(const Attention<float>& a, const BlockWork& work, int row,
                               float scale) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t query = work.query + row;
  const std::int64_t end = a.causal ? min(a.m, query + 1) : a.m;
  const bool* const mask =
      a.mask == nullptr ? nullptr : a.mask + (a.batch.part(a.of_mask, work.b) * a.n + query) * a.m;
  const auto score = [&](std::int64_t key) {  // -infinity where the query does not attend to it
    if (key >= end || (mask != nullptr && !mask[key])) return -INFINITY;
    float sum = 0;
    for (std::int64_t c = 0; c < a.d_k; ++c) {
      sum += a.q[work.q + row * a.q_stride + c] * a.k[work.k + key * a.k_stride + c];
    }
    return sum;
  };
  float largest = -INFINITY, sum = 0, out[D / 32] = {};
  for (std::int64_t key = lane; key < end; key += 32) largest = Maximum()(largest, score(key));
  largest = warp_reduce(largest, Maximum());
  if (largest == -INFINITY) largest = 0;
  for (std::int64_t first = 0; first < end; first += 32) {
    const float p = exp2f((score(first + lane) - largest) * scale);
    sum += p;
    for (int j = 0; j < 32 && first + j < end; ++j) {
      const std::int64_t key = first + j;
      const float of_key = __shfl_sync(whole_warp, p, j);
      if (mask != nullptr && !mask[key]) continue;
      for (int c = 0; c < D / 32; ++c) {
        const int column = 32 * c + lane;
        if (column < a.d_v) out[c] += of_key * a.v[work.v + key * a.v_stride + column];
      }
    }
  }
  sum = warp_reduce(sum, Sum());
  for (int c = 0; c < D / 32; ++c) {
    const int column = 32 * c + lane;
    if (column < a.d_v) a.y[work.y + row * a.y_stride + column] = out[c] / (sum == 0 ? 1 : sum);
  }
}

/// Writes y of a warp's queries, with four neighbouring lanes to a sector, and again where it is
/// not finite.
template <int D, bool aligned, int M>
__device__ void store_rows(const Attention<float>& a, const BlockWork& work, int first_row,
                           const float (&out)[M][D / 8][4], const Rows<M>& sums, float scale) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned again = 0;  // a bit for each query whose result is not finite
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // step: weights
      const float sum = sum_of_row(sums.sum[i][r]);
      const float share = sum == 0 ? 1.0f : 1 / sum;
      const int row = first_row + 16 * i + 8 * r + lane / 4;
      float* const to = a.y + work.y + row * a.y_stride + lane % 4 * 2;
      bool finite = true;
#pragma unroll
      for (int j = 0; j < D / 8; ++j) {
        const Vector<float, 2> pair{out[i][j][2 * r] * share, out[i][j][2 * r + 1] * share};
        finite = finite && isfinite(pair.element[0]) && isfinite(pair.element[1]);
        const auto columns = static_cast<int>(a.d_v) - 8 * j - lane % 4 * 2;
        if (row >= work.rows || columns <= 0) continue;
        if (aligned) {
          store_vector(to + 8 * j, pair);
        } else {
          to[8 * j] = pair.element[0];
          if (columns > 1) to[8 * j + 1] = pair.element[1];
        }
      }
      const unsigned votes = __ballot_sync(whole_warp, !finite && row < work.rows);
#pragma unroll
      for (int of_eight = 0; of_eight < 8; ++of_eight) {
        if ((votes >> 4 * of_eight & 15) != 0) again |= 1u << (16 * i + 8 * r + of_eight);
      }
    }
  }
  __syncwarp();  // what was stored may be replaced
  for (; again != 0; again &= again - 1) {
    attend_plainly<D>(a, work, first_row + __ffs(static_cast<int>(again)) - 1, scale);
  }
}

/// A block takes queries<D> queries of the range first ... end - 1. `scale` is for powers of 2.
///
/// Tiles that are empty for all queries of a block are not loaded; a warp does not compute tiles
/// that are empty for its queries.
template <int D, bool aligned>
__global__ void __launch_bounds__(threads, 2)
    attend_bf16x6(Attention<float> a, MaskTiles tiles, std::int64_t first, std::int64_t end,
                  float scale) {
  constexpr int M = row_tiles<D>;
  Shared<D>& shared = *dynamic_shared<Shared<D>>();
  BlockWork& work = shared.work;
  if (threadIdx.x == 0) find_work<queries<D>, keys>(work, a, tiles, first, end);
  __syncthreads();

  Moving<D, half_tile> moving;
  const auto load = [&](const float* from, std::int64_t stride, std::int64_t columns, int tile,
                        int half) {
    const std::int64_t key = static_cast<std::int64_t>(tile) * keys + half * half_tile;
    const int there = static_cast<int>(min(a.m - key, std::int64_t{half_tile}));
    load_tile<D, half_tile, aligned>(moving, from + key * stride, stride, there,
                                     static_cast<int>(columns));
  };
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16 * M;  // of the warp
  float out[M][D / 8][4] = {};
  Rows<M> softmax;
  int tile = next_tile<keys>(work, tiles, 0);
  if (tile < work.end_tile) {
    Moving<D, queries<D>> q;
    load_tile<D, queries<D>, aligned>(q, a.q + work.q, a.q_stride, work.rows,
                                      static_cast<int>(a.d_k));
    store_parts<D, queries<D>>(shared.q, q, 0);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      load(a.k + work.k, a.k_stride, a.d_k, tile, half);
      store_parts<D, half_tile>(shared.k, moving, half * half_tile);
    }
  }
  while (tile < work.end_tile) {
    __syncthreads();  // k is stored, and no thread reads v any more
    const int rows = min(work.rows - first_row, 16 * M);
    const std::int64_t first_key = std::int64_t{tile} * keys;
    const TileKind kind = kind_of(a, tiles, work.mask_row + first_row, work.query + first_row, rows,
                                  first_key / mask_tile * mask_tile);
    float score[M][keys / 8][4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      load(a.v + work.v, a.v_stride, a.d_v, tile, half);
      if (kind != TileKind::empty)
        multiply_keys<D>(score, shared, first_row, half);  // step: scores
      store_parts<D, half_tile>(shared.v, moving, half * half_tile);
    }
    if (kind != TileKind::empty) {
      // step: mask
      if (kind == TileKind::mixed) {
        mask_scores(score, a, tiles, work.mask_row + first_row, work.query + first_row, first_key);
      }
      online_softmax(score, softmax, out, scale);  // step: maximum, weights
    }
    tile = next_tile<keys>(work, tiles, tile + 1);
    __syncthreads();  // v is stored, and no thread reads k any more
    const bool more = tile < work.end_tile;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (more) load(a.k + work.k, a.k_stride, a.d_k, tile, half);
      if (kind != TileKind::empty) add_values<D>(out, score, shared, 2 * half);  // step: values
      if (more) store_parts<D, half_tile>(shared.k, moving, half * half_tile);
    }
  }
  store_rows<D, aligned>(a, work, first_row, out, softmax, scale);
}

template <int D, bool aligned>
void launch_attend(const Attention<float>& a, Stream stream) {
  static_assert(sizeof(Shared<D>) <= 99 * 1024, "more than a block of 8.6 or 8.9 can have");
  const float scale = scale_of_powers(a);
  for_query_ranges(a.mask, a.masks, a.n, a.m, stream,
                   [&](std::int64_t first, std::int64_t count, const MaskTiles& tiles) {
                     launch({"attention bf16x6", a.batch.size * ceil_div(count, queries<D>),
                             threads, stream, sizeof(Shared<D>)},
                            attend_bf16x6<D, aligned>, a, tiles, first, first + count, scale);
                   });
}

template <int D>
void launch_attend(const Attention<float>& a, Stream stream) {
  const bool aligned = rows_are_aligned(a) && a.d_k % 4 == 0 && a.d_v % 4 == 0;
  aligned ? launch_attend<D, true>(a, stream) : launch_attend<D, false>(a, stream);
}

}  // namespace

template <class T>
bool attention_bf16x6(const Attention<T>& a, Stream stream) {
  if constexpr (std::is_same_v<T, float>) {
    return with_columns<128>(a, [&](auto columns) { launch_attend<columns>(a, stream); });
  }
  return false;
}

template bool attention_bf16x6<double>(const Attention<double>&, Stream);
template bool attention_bf16x6<float>(const Attention<float>&, Stream);
template bool attention_bf16x6<float16>(const Attention<float16>&, Stream);
template bool attention_bf16x6<bfloat16>(const Attention<bfloat16>&, Stream);

namespace {

template <class T>
void launch_attention_bf16x6(View<const T> q, View<const T> k, View<const T> v,
                             std::optional<View<const bool>> mask, Stream stream, View<T> y) {
  const Attention<T> a = attention_of(q, k, v, mask, y);
  if (has_outputs(a) && !attention_bf16x6(a, stream)) {
    throw not_implemented("attention bf16x6 takes float32 with d_k and d_v up to 128");
  }
}

}  // namespace

PRENORM_CUDA_VARIANT(scaled_dot_product_attention, bf16x6, launch_attention_bf16x6)

}  // namespace prenorm::cuda
