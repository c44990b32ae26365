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
#include "attention_mma.cuh"

#include "launch.cuh"

namespace prenorm::cuda {
namespace {

constexpr int keys = mask_tile;  // of a tile
constexpr int warps = 4, threads = 32 * warps;

/// Rows of 16 queries that a warp has, and queries of a block; D is d_k and d_v rounded up.
template <int D>
constexpr int row_tiles = D <= 128 ? 2 : 1;
template <int D>
constexpr int queries = warps * 16 * row_tiles<D>;

/// A block's shared memory: the tiles of q, k and v, and the result before it is written.
template <class T, int D>
struct Shared {
  T q[queries<D> * D];  // later y; a warp's rows are its own
  T k[keys * D], v[keys * D];
  BlockWork work;
};

template <int D, int tile_rows, bool aligned, class T>
__device__ void load_tile(T* tile, const T* from, std::int64_t stride, int rows, int columns) {
  if constexpr (aligned) {
    copy_tile<D, tile_rows, threads>(tile, from, stride, rows, columns);
  } else {
    load_elements<D, tile_rows, threads>(tile, from, stride, rows, columns);
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
      const float sum = sum_of_row(sums.sum[i][r]);
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

/// Blocks that share a multiprocessor by their registers. On 8.6, 8.9 and 12.x, which have only
/// 100 KiB of shared memory, one does where D is 128.
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
  BlockWork& work = shared.work;
  if (threadIdx.x == 0) find_work<queries<D>, keys>(work, a, tiles, first, end);
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
  int tile = next_tile<keys>(work, tiles, 0);
  if (tile < work.end_tile) {
    load_tile<D, queries<D>, aligned>(shared.q, a.q + work.q, a.q_stride, work.rows,
                                      static_cast<int>(a.d_k));
    load(shared.k, a.k + work.k, a.k_stride, a.d_k, tile);
  }
  while (tile < work.end_tile) {
    wait_for_copies<0>();
    __syncthreads();  // k is loaded, and no thread reads v any more
    load(shared.v, a.v + work.v, a.v_stride, a.d_v, tile);
    const int rows = min(work.rows - first_row, 16 * M);
    const TileKind kind = kind_of(a, tiles, work.mask_row + first_row, work.query + first_row, rows,
                                  std::int64_t{tile} * keys);
    unsigned p[M][keys / 16][4] = {};
    if (kind != TileKind::empty) {
      float score[M][keys / 8][4] = {};
      multiply_keys<D>(score, shared.q, shared.k, first_row);  // step: scores
      // step: mask
      if (kind == TileKind::mixed) {
        mask_scores(score, a, tiles, work.mask_row + first_row, work.query + first_row,
                    std::int64_t{tile} * keys);
      }
      // step: maximum, weights
      online_softmax<T>(p, score, softmax, out, scale, lead);
    }
    tile = next_tile<keys>(work, tiles, tile + 1);
    wait_for_copies<0>();
    __syncthreads();  // v is loaded, and no thread reads k any more
    if (tile < work.end_tile) load(shared.k, a.k + work.k, a.k_stride, a.d_k, tile);
    if (kind != TileKind::empty) add_values<D>(out, p, shared.v);  // step: values
  }
  store_rows<D, aligned>(a.y + work.y + first_row * a.y_stride, a.y_stride, work.rows - first_row,
                         static_cast<int>(a.d_v), shared.q, first_row, out, softmax);
}

template <class T, int D, bool aligned>
void launch_attend(const Attention<T>& a, Stream stream) {
  static_assert(sizeof(Shared<T, D>) <= 99 * 1024, "more than a block of 8.6 or 8.9 can have");
  const float scale = scale_of_powers(a);
  for_query_ranges(a.mask, a.masks, a.n, a.m, stream,
                   [&](std::int64_t first, std::int64_t count, const MaskTiles& tiles) {
                     launch({"attention v3", a.batch.size * ceil_div(count, queries<D>), threads,
                             stream, sizeof(Shared<T, D>)},
                            attend_mma<T, D, aligned>, a, tiles, first, first + count, scale,
                            headroom<T> / scale);
                   });
}

}  // namespace

template <class T>
bool attention_mma(const Attention<T>& a, Stream stream) {
  if constexpr (sizeof(T) == 2) {
    return with_columns<256>(a, [&](auto columns) {
      rows_are_aligned(a) ? launch_attend<T, columns, true>(a, stream)
                          : launch_attend<T, columns, false>(a, stream);
    });
  }
  return false;
}

template bool attention_mma<double>(const Attention<double>&, Stream);
template bool attention_mma<float>(const Attention<float>&, Stream);
template bool attention_mma<float16>(const Attention<float16>&, Stream);
template bool attention_mma<bfloat16>(const Attention<bfloat16>&, Stream);

}  // namespace prenorm::cuda
