// Version 3 of attention (attention.cu): v2 on tensor cores, for float16 and bfloat16. Equation,
// shapes and errors: reference/attention.hpp. What v3 changes:
//
//   both products by mma.sync   sums in float32; probabilities are rounded to T for the second
//   scores stay in registers    a product's result has the layout of the next one's left operand:
//                               probabilities never go through shared memory
//   32 queries per warp         (16 if d is more than 128) each load of k and v serves two products
//   copies by cp.async          v's tile comes while the scores are computed, k's next tile while
//                               the values are summed
//   exp2 for exp                log2(e) / sqrt(d_k) is one factor, after the maximum's subtraction:
//                               of two large rounded products the difference could be far from 0
//
// The gain of each change by itself has not been measured; attention.cu has that of all.
#include "attention.cuh"

#include "launch.cuh"
#include "mask_tiles.cuh"
#include "mma.cuh"
#include "types.cuh"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace prenorm::cuda {
namespace {

constexpr int keys = mask_tile;  // of a tile
constexpr int warps = 4, threads = 32 * warps;
[[maybe_unused]] constexpr unsigned whole_warp = 0xffffffffu;

/// Rows of 16 queries that a warp has, and queries of a block; D is d_k and d_v rounded up.
template <int D>
constexpr int row_tiles = D <= 128 ? 2 : 1;
template <int D>
constexpr int queries = warps * 16 * row_tiles<D>;

/// What a block works on. In shared memory, as it is the same for all threads and registers are
/// scarce.
template <class T>
struct Work {
  const T *q, *k, *v;  // its first query, the first key
  T* y;
  std::int64_t query;     // its first among all queries
  std::int64_t mask_row;  // and its row among those of all masks (MaskTiles::row_of)
  int rows;               // its queries, at most queries<D>
  int end_tile;           // of keys
};

/// A block's shared memory: the tiles of q, k and v, and the result before it is written, in chunks
/// of 16 bytes, chunk c of row r at place c ^ (r % 8), in rows of 32 and 96 columns, whose chunks
/// are groups of four, at place c ^ (r / 2 % 4). Eight rows of one column, which ldmatrix reads at
/// once, are in different banks, and so are the chunks of a row, which cp.async writes.
template <class T, int D>
struct Shared {
  T q[queries<D> * D];  // later y; a warp's rows are its own
  T k[keys * D], v[keys * D];
  Work<T> work;
};

/// Where a chunk of 8 elements is in a tile of rows of D. The place 8 rows below is 8 * D further,
/// 8 chunks to the right 64 further: add such steps to a place, so that few places are computed.
template <int D>
__host__ __device__ constexpr int place(int row, int chunk) {
  return row * D + (chunk ^ (D % 64 == 32 ? row >> 1 & 3 : row & 7)) * 8;
}

/// Whether a chunk of eight rows covers all 32 banks, of 4 bytes each.
template <int D>
constexpr bool covers_all_banks() {
  for (int chunk = 0; chunk < D / 8; ++chunk) {
    unsigned banks = 0;
    for (int row = 0; row < 8; ++row) banks |= 0xfu << place<D>(row, chunk) / 2 % 32;
    if (banks != 0xffffffffu) return false;
  }
  return true;
}
static_assert(covers_all_banks<32>() && covers_all_banks<64>() && covers_all_banks<96>() &&
              covers_all_banks<128>() && covers_all_banks<192>() && covers_all_banks<256>());

template <unsigned count>
constexpr int power_below = static_cast<int>(std::bit_floor(count));  // or equal

/// Loads the first `rows` of a tile's rows, `columns` of each. The rest of the tile is set to 0, so
/// that it does not change the sums. The copies are asynchronous, of aligned chunks: as many
/// columns at a time as are a power of two, of 96 the first 64 and then 32.
template <int D, int tile_rows, int first_chunk = 0, class T>
__device__ void copy_tile(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  constexpr int chunks = power_below<D / 8 - first_chunk>, step = threads / chunks;
  const int thread = thread_anew(), chunk = first_chunk + thread % chunks;
  const int first = thread / chunks, there = max(0, min(8, columns - 8 * chunk));
  const T* const chunk_of_first = from + first * stride + 8 * chunk;
#pragma unroll
  for (int i = 0; i < tile_rows; i += step) {
    T* const to = tile + place<D>(first + i % 8, chunk) + i / 8 * 8 * D;
    const int elements = first + i < rows ? there : 0;
    copy_async(to, chunk_of_first + i * stride, elements * static_cast<int>(sizeof(T)));
  }
  if constexpr (first_chunk + chunks < D / 8) {
    copy_tile<D, tile_rows, first_chunk + chunks>(tile, from, stride, rows, columns);
  }
}

/// The same of rows that are not aligned. Neighbouring lanes take neighbouring elements: of a chunk
/// for each lane, loaded element by element, a request would touch all sectors of some rows for one
/// element of each chunk.
template <int D, int tile_rows, class T>
__device__ void load_elements(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  const int thread = thread_anew();
#pragma unroll 8
  for (int at = thread; at < tile_rows * D; at += threads) {
    const int row = at / D, column = at % D;
    const bool there = row < rows && column < columns;
    tile[place<D>(row, column / 8) + column % 8] = there ? from[row * stride + column] : T{};
  }
}

template <int D, int tile_rows, bool aligned, class T>
__device__ void load_tile(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  if constexpr (aligned) {
    copy_tile<D, tile_rows>(tile, from, stride, rows, columns);
  } else {
    load_elements<D, tile_rows>(tile, from, stride, rows, columns);
  }
}

/// score = q kᵀ, of the warp's queries, whose first row is `first_row`.
template <int D, class T, int M>
__device__ void multiply_keys(float (&score)[M][keys / 8][4], const Shared<T, D>& shared,
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
        ldmatrix(q[i], shared.q + place<D>(first_row + lane % 16, chunk + lane / 16) + 16 * i * D +
                           column);
      }
#pragma unroll
      for (int j = 0; j < keys / 8; j += 2) {
        unsigned k[4];  // 8 keys with 16 columns, and the next 8
        ldmatrix(k, shared.k + place<D>(lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2) +
                        8 * j * D + column);
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
template <int D, class T, int M>
__device__ void add_values(float (&out)[M][D / 8][4], const unsigned (&p)[M][keys / 16][4],
                           const Shared<T, D>& shared) {
  // step: values
  const int lane = thread_anew() % 32;
#pragma unroll
  for (int step = 0; step < keys / 16; ++step) {  // 16 keys
#pragma unroll
    for (int j = 0; j < D / 8; j += 2) {
      unsigned v[4];  // 16 keys with 8 columns, and the next 8
      ldmatrix_transposed(
          v, shared.v + place<D>(lane % 16, j % 8 + lane / 16) + 16 * step * D + j / 8 * 64);
#pragma unroll
      for (int i = 0; i < M; ++i) {
        mma<T>(out[i][j], p[i][step], v[0], v[1]);
        mma<T>(out[i][j + 1], p[i][step], v[2], v[3]);
      }
    }
  }
}

/// Online softmax of a thread's rows, two in each of its M tiles: their maxima, less the headroom,
/// and the part of their sums that is this thread's keys.
template <int M>
struct Rows {
  float largest[M][2], sum[M][2];
};

/// Turns scores into probabilities, not yet divided by their sum; earlier sums are rescaled. They
/// are rounded to T only as the left operand of the product with v. fmaxf ignores NaN, but a NaN
/// score makes the row's sum NaN.
template <class T, int M, int columns>
__device__ void online_softmax(unsigned (&p)[M][keys / 16][4], const float (&score)[M][keys / 8][4],
                               Rows<M>& rows, float (&out)[M][columns][4], float scale,
                               float lead) {
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // step: maximum
      float largest = -INFINITY;
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
        largest = fmaxf(largest, fmaxf(score[i][j][2 * r], score[i][j][2 * r + 1]));
      }
      // Four neighbouring lanes share a row.
      largest = fmaxf(largest, __shfl_xor_sync(whole_warp, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(whole_warp, largest, 2));
      // Rounded up: for large scores the nearest may be so low that a power is infinite.
      largest = fmaxf(rows.largest[i][r], __fsub_ru(largest, lead));
      const float shift = largest == -INFINITY ? 0.0f : largest;
      const float correction = exp2_fast((rows.largest[i][r] - shift) * scale);  // step: scale
      rows.largest[i][r] = largest;
      float sum = rows.sum[i][r] * correction;
      // step: weights
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
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

/// The kind of a tile for `rows` queries of the block from `row` on: by the mask, by causality and
/// by the number of keys.
template <class T>
__device__ TileKind kind_of(const Work<T>& work, const Attention<T>& a, const MaskTiles& tiles,
                            int tile, int row, int rows) {
  const std::int64_t end = (static_cast<std::int64_t>(tile) + 1) * keys;
  const std::int64_t query = work.query + row;
  if (rows <= 0 || (a.causal && end - keys >= query + rows)) return TileKind::empty;
  const TileKind kind = tiles.kind_of_row(work.mask_row + row, tile);
  const bool cut = end > a.m || (a.causal && end > query + 1);
  return kind == TileKind::full && cut ? TileKind::mixed : kind;
}

/// A bit for each key of a tile that query `row` of the block attends to.
template <class T>
__device__ unsigned long long keys_of(const Work<T>& work, const Attention<T>& a,
                                      const MaskTiles& tiles, int tile, int row) {
  // step: mask
  std::int64_t there = a.m - static_cast<std::int64_t>(tile) * keys;
  if (a.causal) there = min(there, work.query + row + 1 - static_cast<std::int64_t>(tile) * keys);
  unsigned long long bits = ~0ull;
  if (there < keys) bits = there <= 0 ? 0 : bits >> (keys - there);
  if (tiles.kinds != nullptr) bits &= tiles.bits_of_row(work.mask_row + row, tile);
  return bits;
}

/// The first tile, from `tile` on, that is not empty for all of the block's queries. The lanes of a
/// warp check 32 at once.
template <class T>
__device__ int next_tile(const Work<T>& work, const MaskTiles& tiles, int tile) {
  if (tiles.kinds == nullptr) return tile;
  for (; tile < work.end_tile; tile += 32) {
    const int candidate = tile + static_cast<int>(threadIdx.x) % 32;
    bool wanted = false;
    for (int row = 0; row < work.rows && candidate < work.end_tile; row += mask_tile) {
      wanted = wanted || tiles.kind_of_row(work.mask_row + row, candidate) != TileKind::empty;
    }
    const unsigned votes = __ballot_sync(whole_warp, wanted);
    if (votes != 0) return tile + __ffs(static_cast<int>(votes)) - 1;
  }
  return tile;
}

/// Sets the scores of keys that a query does not attend to to -infinity, for the warp whose first
/// query is `first_row`. Each lane looks up one query, for all lanes.
template <class T, int M>
__device__ void mask_scores(float (&score)[M][keys / 8][4], const Work<T>& work,
                            const Attention<T>& a, const MaskTiles& tiles, int tile,
                            int first_row) {
  // step: mask
  const int lane = thread_anew() % 32;
  const unsigned long long looked_up = keys_of(work, a, tiles, tile, first_row + lane % (16 * M));
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const unsigned long long bits =
          __shfl_sync(whole_warp, looked_up, 16 * i + 8 * r + lane / 4) >> lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < keys / 8; ++j) {
        if ((bits >> 8 * j & 1) == 0) score[i][j][2 * r] = -INFINITY;
        if ((bits >> 8 * j & 2) == 0) score[i][j][2 * r + 1] = -INFINITY;
      }
    }
  }
}

/// Writes y of a warp's queries, `rows` of them, by way of the shared memory that held their q.
template <int D, bool aligned, class T, int M>
__device__ void store_rows(T* y, std::int64_t stride, int rows, int columns, T* tile, int first_row,
                           const float (&out)[M][D / 8][4], const Rows<M>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // step: weights
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
  constexpr int together = aligned ? 8 : 1;  // elements of an access
#pragma unroll 4
  for (int at = lane * together; at < 16 * M * D; at += 32 * together) {
    const int row = at / D, column = at % D, elements = columns - column;
    const Vector<T, together> vector =
        load_vector<together>(tile + place<D>(first_row + row, column / 8) + column % 8);
    if (row >= rows || elements <= 0) continue;
    T* const to = y + row * stride + column;
    if (elements >= together) {
      store_vector(to, vector);
    } else {  // the row's last ones
#pragma unroll
      for (int e = 0; e < together; ++e) {
        if (e < elements) to[e] = vector.element[e];
      }
    }
  }
}

/// Blocks that share a multiprocessor by their registers. On 8.6 and 8.9, which have only 100 KiB
/// of shared memory, one does where D is 128.
template <int D>
constexpr int blocks_together = D == 32    ? 3
                                : D <= 128 ? 2
                                           : 1;

/// A block takes queries<D> queries of the range first ... end - 1. `scale` is for powers of 2;
/// `lead` is the headroom as a score.
///
/// Tiles that are empty for all queries of a block are not loaded; a warp does not compute tiles
/// that are empty for its queries. Scores are masked, by one bit per key, only where the mask's
/// tile is mixed or is crossed by the diagonal of a causal mask or by the end of the keys.
template <class T, int D, bool aligned>
__global__ void __launch_bounds__(threads, blocks_together<D>)
    attend_mma(Attention<T> a, MaskTiles tiles, std::int64_t first, std::int64_t end, float scale,
               float lead) {
  constexpr int M = row_tiles<D>;
  Shared<T, D>& shared = *dynamic_shared<Shared<T, D>>();
  Work<T>& work = shared.work;
  if (threadIdx.x == 0) {
    const auto blocks = static_cast<unsigned>(ceil_div(end - first, queries<D>));  // of an index
    // The last queries come first: under a causal mask they have the most work.
    const std::int64_t row = std::int64_t{blocks - 1 - blockIdx.x % blocks} * queries<D>;
    const std::int64_t b = blockIdx.x / blocks, query = first + row;
    work.rows = static_cast<int>(min(end - query, std::int64_t{queries<D>}));
    work.q = a.q + a.batch.part(a.of_q, b) + query * a.q_stride;
    work.k = a.k + a.batch.part(a.of_k, b);
    work.v = a.v + a.batch.part(a.of_v, b);
    work.y = a.y + a.batch.part(a.of_y, b) + query * a.y_stride;
    work.query = query;
    work.mask_row = tiles.row_of(a.batch.part(a.of_mask, b), row);
    const std::int64_t seen = a.causal ? min(a.m, query + work.rows) : a.m;
    work.end_tile = static_cast<int>(ceil_div(seen, keys));
  }
  __syncthreads();

  const auto load = [&](T* to, const T* from, std::int64_t stride, std::int64_t columns, int tile) {
    const std::int64_t key = static_cast<std::int64_t>(tile) * keys;
    const int there = static_cast<int>(min(a.m - key, std::int64_t{keys}));
    load_tile<D, keys, aligned>(to, from + key * stride, stride, there, static_cast<int>(columns));
    commit_copies();
  };
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 16 * M;  // of the warp
  float out[M][D / 8][4] = {};
  Rows<M> softmax;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    softmax.largest[i][0] = softmax.largest[i][1] = -INFINITY;
    softmax.sum[i][0] = softmax.sum[i][1] = 0;
  }
  int tile = next_tile(work, tiles, 0);
  if (tile < work.end_tile) {
    load_tile<D, queries<D>, aligned>(shared.q, work.q, a.q_stride, work.rows,
                                      static_cast<int>(a.d_k));
    load(shared.k, work.k, a.k_stride, a.d_k, tile);
  }
  while (tile < work.end_tile) {
    wait_for_copies<0>();
    __syncthreads();  // k is loaded, and no thread reads v any more
    load(shared.v, work.v, a.v_stride, a.d_v, tile);
    const int rows = min(work.rows - first_row, 16 * M);
    const TileKind kind = kind_of(work, a, tiles, tile, first_row, rows);
    unsigned p[M][keys / 16][4] = {};
    if (kind != TileKind::empty) {
      float score[M][keys / 8][4] = {};
      multiply_keys<D>(score, shared, first_row);  // step: scores
      // step: mask
      if (kind == TileKind::mixed) mask_scores(score, work, a, tiles, tile, first_row);
      // step: maximum, weights
      online_softmax<T>(p, score, softmax, out, scale, lead);
    }
    tile = next_tile(work, tiles, tile + 1);
    wait_for_copies<0>();
    __syncthreads();  // v is loaded, and no thread reads k any more
    if (tile < work.end_tile) load(shared.k, work.k, a.k_stride, a.d_k, tile);
    if (kind != TileKind::empty) add_values<D>(out, p, shared);  // step: values
  }
  store_rows<D, aligned>(work.y + first_row * a.y_stride, a.y_stride, work.rows - first_row,
                         static_cast<int>(a.d_v), shared.q, first_row, out, softmax);
}

template <class T, int D, bool aligned>
void launch_attend(const Attention<T>& a, Stream stream) {
  static_assert(sizeof(Shared<T, D>) <= 99 * 1024, "more than a block of 8.6 or 8.9 can have");
  // step: scale
  const auto scale =
      static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(a.d_k)));

  for_query_ranges(a.mask, a.masks, a.n, a.m, stream,
                   [&](std::int64_t first, std::int64_t count, const MaskTiles& tiles) {
                     launch({"attention v3", a.batch.size * ceil_div(count, queries<D>), threads,
                             stream, sizeof(Shared<T, D>)},
                            attend_mma<T, D, aligned>, a, tiles, first, first + count, scale,
                            headroom<T> / scale);
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
  constexpr bool takes = sizeof(T) == 2;
  if constexpr (takes) {
    const std::int64_t d = std::max(a.d_k, a.d_v);
    if (d > 256) return false;
    if (d <= 32) {
      launch_attend<32>(a, stream);
    } else if (d <= 64) {
      launch_attend<64>(a, stream);
    } else if (d <= 96) {
      launch_attend<96>(a, stream);
    } else if (d <= 128) {
      launch_attend<128>(a, stream);
    } else if (d <= 192) {
      launch_attend<192>(a, stream);
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
