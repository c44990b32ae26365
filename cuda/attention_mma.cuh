// What attention's kernels on tensor cores by mma.sync share (attention_mma.cu, attention_split.cu,
// attention_bf16x6.cu): tiles in shared memory, both products, online softmax, a block's work and
// masks. D is d_k and d_v rounded up to a multiple of 32, M the rows of 16 queries that a warp has,
// and N the keys of a tile / 8.
#pragma once

#include "attention.cuh"
#include "mask_tiles.cuh"
#include "mma.cuh"
#include "types.cuh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <type_traits>

namespace prenorm::cuda {

[[maybe_unused]] constexpr unsigned whole_warp = 0xffffffffu;

/// Where a chunk of 8 elements, 16 bytes, is in a tile of rows of D. Eight rows of one chunk, which
/// ldmatrix reads at once, are in different banks, and so are the chunks of a row, which cp.async
/// writes, and four chunks of two rows, which half a warp stores. The place 8 rows below is 8 * D
/// further, 8 chunks to the right 64 further: add such steps to a place, so that few places are
/// computed.
template <int D>
__host__ __device__ constexpr int place(int row, int chunk) {
  return row * D + (chunk ^ (row >> 1 & 3) ^ (D % 64 == 0 ? row % 2 * 4 : 0)) * 8;
}

/// Whether so many rows of so many chunks cover all 32 banks, of 4 bytes each, wherever they begin.
template <int D>
constexpr bool covers_all_banks(int rows, int chunks) {
  for (int first = 0; first < D / 8; first += chunks) {
    unsigned banks = 0;
    for (int i = 0; i < rows * chunks; ++i) {
      banks |= 0xfu << place<D>(i / chunks, first + i % chunks) / 2 % 32;
    }
    if (banks != 0xffffffffu) return false;
  }
  return true;
}
template <int... D>
constexpr bool no_conflicts = ((covers_all_banks<D>(8, 1) && covers_all_banks<D>(2, 4)) && ...);
static_assert(no_conflicts<32, 64, 96, 128, 192, 256>);

template <unsigned count>
constexpr int power_below = static_cast<int>(std::bit_floor(count));  // or equal

/// Loads the first `rows` of a tile's rows, `columns` of each, by `threads` neighbouring threads: a
/// block or a warp. The rest of the tile is set to 0, so that it does not change the sums. The
/// copies are asynchronous, of aligned chunks: as many columns at a time as are a power of two, of
/// 96 the first 64 and then 32.
template <int D, int tile_rows, int threads, int first_chunk = 0, class T>
__device__ void copy_tile(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  constexpr int chunks = power_below<D / 8 - first_chunk>, step = threads / chunks;
  const int thread = thread_anew() % threads, chunk = first_chunk + thread % chunks;
  const int first = thread / chunks, there = max(0, min(8, columns - 8 * chunk));
  const T* const chunk_of_first = from + first * stride + 8 * chunk;
#pragma unroll
  for (int i = 0; i < tile_rows; i += step) {
    T* const to = tile + place<D>(first + i % 8, chunk) + i / 8 * 8 * D;
    const int elements = first + i < rows ? there : 0;
    copy_async(to, chunk_of_first + i * stride, elements * static_cast<int>(sizeof(T)));
  }
  if constexpr (first_chunk + chunks < D / 8) {
    copy_tile<D, tile_rows, threads, first_chunk + chunks>(tile, from, stride, rows, columns);
  }
}

/// The same of rows that are not aligned. Neighbouring lanes take neighbouring elements: of a chunk
/// for each lane, loaded element by element, a request would touch all sectors of some rows for one
/// element of each chunk.
template <int D, int tile_rows, int threads, class T>
__device__ void load_elements(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  const int thread = thread_anew() % threads;
#pragma unroll 8
  for (int at = thread; at < tile_rows * D; at += threads) {
    const int row = at / D, column = at % D;
    const bool there = row < rows && column < columns;
    tile[place<D>(row, column / 8) + column % 8] = there ? from[row * stride + column] : T{};
  }
}

/// score = q kᵀ, of the tiles of a warp's queries, whose first row is `first_row`, and of keys.
template <int D, class T, int M, int N>
__device__ void multiply_keys(float (&score)[M][N][4], const T* of_q, const T* of_k,
                              int first_row) {
  // step: scores
  const int lane = thread_anew() % 32;
  constexpr int step = D % 64 == 0 ? 64 : 32;  // columns: the places of all rows are computed once
#pragma unroll 1
  for (int column = 0; column < D; column += step) {
#pragma unroll
    for (int chunk = 0; chunk < step / 8; chunk += 2) {  // 16 columns of q and k
      unsigned q[M][4];
#pragma unroll
      for (int i = 0; i < M; ++i) {
        ldmatrix(q[i],
                 of_q + place<D>(first_row + lane % 16, chunk + lane / 16) + 16 * i * D + column);
      }
#pragma unroll
      for (int j = 0; j < N; j += 2) {
        unsigned k[4];  // 8 keys with 16 columns, and the next 8
        ldmatrix(k, of_k + place<D>(lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2) + 8 * j * D +
                        column);
#pragma unroll
        for (int i = 0; i < M; ++i) {
          mma<T>(score[i][j], q[i], k[0], k[1]);
          mma<T>(score[i][j + 1], q[i], k[2], k[3]);
        }
      }
    }
  }
}

/// out += p v
template <int D, class T, int M, int steps>
__device__ void add_values(float (&out)[M][D / 8][4], const unsigned (&p)[M][steps][4],
                           const T* of_v) {
  // step: values
  const int lane = thread_anew() % 32;
#pragma unroll
  for (int step = 0; step < steps; ++step) {  // 16 keys
#pragma unroll
    for (int j = 0; j < D / 8; j += 2) {
      unsigned v[4];  // 16 keys with 8 columns, and the next 8
      ldmatrix_transposed(
          v, of_v + place<D>(lane % 16, j % 8 + lane / 16) + 16 * step * D + j / 8 * 64);
#pragma unroll
      for (int i = 0; i < M; ++i) {
        mma<T>(out[i][j], p[i][step], v[0], v[1]);
        mma<T>(out[i][j + 1], p[i][step], v[2], v[3]);
      }
    }
  }
}

/// The sum, and the maximum, of what the four neighbouring lanes have that share a row.
inline __device__ float sum_of_row(float value) {
  value += __shfl_xor_sync(whole_warp, value, 1);
  return value + __shfl_xor_sync(whole_warp, value, 2);
}
inline __device__ float largest_of_row(float value) {
  value = fmaxf(value, __shfl_xor_sync(whole_warp, value, 1));
  return fmaxf(value, __shfl_xor_sync(whole_warp, value, 2));
}

/// Online softmax of a thread's rows, two in each of its M tiles: their maxima, less the headroom,
/// and the part of their sums that is this thread's keys.
template <int M>
struct Rows {
  float largest[M][2], sum[M][2];
  __device__ Rows() {  // of no keys
#pragma unroll
    for (int i = 0; i < M; ++i) {
      largest[i][0] = largest[i][1] = -INFINITY;
      sum[i][0] = sum[i][1] = 0;
    }
  }
};

/// Turns scores into probabilities, not yet divided by their sum; earlier sums are rescaled. They
/// are rounded to T only as the left operand of the product with v. fmaxf ignores NaN, but a NaN
/// score makes the row's sum NaN.
template <class T, int M, int N, int columns>
__device__ void online_softmax(unsigned (&p)[M][N / 2][4], const float (&score)[M][N][4],
                               Rows<M>& rows, float (&out)[M][columns][4], float scale,
                               float lead) {
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // step: maximum
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        largest = fmaxf(largest, fmaxf(score[i][j][2 * r], score[i][j][2 * r + 1]));
      }
      largest = largest_of_row(largest);
      // Rounded up: for large scores the nearest may be so low that a power is infinite.
      largest = fmaxf(rows.largest[i][r], __fsub_ru(largest, lead));
      const float shift = largest == -INFINITY ? 0.0f : largest;
      const float correction = exp2_fast((rows.largest[i][r] - shift) * scale);  // step: scale
      rows.largest[i][r] = largest;
      float sum = rows.sum[i][r] * correction;
      // step: weights
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const float first = exp2_fast((score[i][j][2 * r] - shift) * scale);  // step: scale
        const float second = exp2_fast((score[i][j][2 * r + 1] - shift) * scale);
        sum += first + second;
        p[i][j / 2][j % 2 * 2 + r] = pack<T>(first, second);
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

/// What a block works on. In shared memory, as it is the same for all threads and registers are
/// scarce. Of pointers from there the compiler would not know that they are global.
struct BlockWork {
  std::int64_t q, k, v,
      y;                  // its first query and the first key, in elements from the tensors' first
  std::int64_t b;         // index of the batch
  std::int64_t query;     // its first among all queries
  std::int64_t mask_row;  // and its row among those of all masks (MaskTiles::row_of)
  int rows;               // its queries
  int end_tile;           // of keys
};

/// A block's work: at most `queries` of the range first ... end - 1, in tiles of `keys`.
template <int queries, int keys, class T>
__device__ void find_work(BlockWork& work, const Attention<T>& a, const MaskTiles& tiles,
                          std::int64_t first, std::int64_t end) {
  const auto blocks = static_cast<unsigned>(ceil_div(end - first, queries));  // of an index
  // The last queries come first: under a causal mask they have the most work.
  const std::int64_t row = std::int64_t{blocks - 1 - blockIdx.x % blocks} * queries;
  const std::int64_t b = blockIdx.x / blocks, query = first + row;
  work.rows = static_cast<int>(min(end - query, std::int64_t{queries}));
  work.q = a.batch.part(a.of_q, b) + query * a.q_stride;
  work.k = a.batch.part(a.of_k, b);
  work.v = a.batch.part(a.of_v, b);
  work.y = a.batch.part(a.of_y, b) + query * a.y_stride;
  work.b = b;
  work.query = query;
  work.mask_row = tiles.row_of(a.batch.part(a.of_mask, b), row);
  const std::int64_t seen = a.causal ? min(a.m, query + work.rows) : a.m;
  work.end_tile = static_cast<int>(ceil_div(seen, keys));
}

/// The first tile of `keys`, a divisor of mask_tile, from `tile` on, that is not empty for all of
/// the block's queries. The lanes of a warp check 32 at once.
template <int keys>
__device__ int next_tile(const BlockWork& work, const MaskTiles& tiles, int tile) {
  if (tiles.kinds == nullptr) return tile;
  for (; tile < work.end_tile; tile += 32) {
    const int candidate = tile + static_cast<int>(threadIdx.x) % 32;
    bool wanted = false;
    for (int row = 0; row < work.rows && candidate < work.end_tile; row += mask_tile) {
      const TileKind kind = tiles.kind_of_row(work.mask_row + row, candidate / (mask_tile / keys));
      wanted = wanted || kind != TileKind::empty;
    }
    const unsigned votes = __ballot_sync(whole_warp, wanted);
    if (votes != 0) return tile + __ffs(static_cast<int>(votes)) - 1;
  }
  return tile;
}

/// The kind of the 64 keys from `first_key` on, a multiple of 64, for `rows` queries from `query`
/// on, whose row among those of all masks is `mask_row`: by the mask, by causality and by the
/// number of keys.
template <class T>
__device__ TileKind kind_of(const Attention<T>& a, const MaskTiles& tiles, std::int64_t mask_row,
                            std::int64_t query, int rows, std::int64_t first_key) {
  const std::int64_t end = first_key + mask_tile;
  if (rows <= 0 || first_key >= a.m || (a.causal && first_key >= query + rows)) {
    return TileKind::empty;
  }
  const TileKind kind = tiles.kind_of_row(mask_row, first_key / mask_tile);
  const bool cut = end > a.m || (a.causal && end > query + 1);
  return kind == TileKind::full && cut ? TileKind::mixed : kind;
}

/// A bit for each key, from `first_key` on to the next multiple of 64, that a query attends to.
template <class T>
__device__ unsigned long long keys_of(const Attention<T>& a, const MaskTiles& tiles,
                                      std::int64_t mask_row, std::int64_t query,
                                      std::int64_t first_key) {
  // step: mask
  std::int64_t there = a.m - first_key;
  if (a.causal) there = min(there, query + 1 - first_key);
  unsigned long long bits = ~0ull;
  if (there < mask_tile) bits = there <= 0 ? 0 : bits >> (mask_tile - there);
  if (tiles.kinds != nullptr) {
    bits &= tiles.bits_of_row(mask_row, first_key / mask_tile) >> first_key % mask_tile;
  }
  return bits;
}

/// Sets the scores of keys that a query does not attend to to -infinity: of the keys from
/// `first_key` on and a warp's queries from `query` on. Each lane looks up one query, for all
/// lanes.
template <class T, int M, int N>
__device__ void mask_scores(float (&score)[M][N][4], const Attention<T>& a, const MaskTiles& tiles,
                            std::int64_t mask_row, std::int64_t query, std::int64_t first_key) {
  // step: mask
  const int lane = thread_anew() % 32, own = lane % (16 * M);
  const unsigned long long looked_up = keys_of(a, tiles, mask_row + own, query + own, first_key);
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const unsigned long long bits =
          __shfl_sync(whole_warp, looked_up, 16 * i + 8 * r + lane / 4) >> lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if ((bits >> 8 * j & 1) == 0) score[i][j][2 * r] = -INFINITY;
        if ((bits >> 8 * j & 2) == 0) score[i][j][2 * r + 1] = -INFINITY;
      }
    }
  }
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

/// Calls launch(D) with the fewest columns that take d_k and d_v, as an integral_constant; false,
/// and nothing is done, where there are more than `most`.
template <int most, class T, class Launch>
bool with_columns(const Attention<T>& a, Launch launch) {
  const std::int64_t d = std::max(a.d_k, a.d_v);
  if (d > most) return false;
  if (d <= 32) {
    launch(std::integral_constant<int, 32>());
  } else if (d <= 64) {
    launch(std::integral_constant<int, 64>());
  } else if (d <= 96) {
    launch(std::integral_constant<int, 96>());
  } else if (d <= 128) {
    launch(std::integral_constant<int, 128>());
  } else if constexpr (most > 128) {
    if (d <= 192) {
      launch(std::integral_constant<int, 192>());
    } else {
      launch(std::integral_constant<int, 256>());
    }
  }
  return true;
}

/// 1 / sqrt(d_k), for powers of 2.
template <class T>
float scale_of_powers(const Attention<T>& a) {
  // step: scale
  return static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(a.d_k)));
}

}  // namespace prenorm::cuda
