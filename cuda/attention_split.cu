// Attention (attention.cu) whose keys are split, for few queries and many keys, as in decoding: v3
// (attention_mma.cu) has a block for 64 or 128 queries, here one query is work for as many blocks
// as there are parts of 512 keys. Equation, shapes and errors: reference/attention.hpp.
//
//   a part is a block   its 4 warps take 128 keys each and need not wait for each other: a warp
//                       copies k and v for itself, so that there are always bytes on their way
//   two kernels         the first leaves sums of values, the maximum and the sum of powers of each
//                       part in memory, in float32; the second combines them in their order
//
// The size of a part is fixed: the bits depend on no batch and no device.
#include "attention_split.cuh"

#include "attention_mma.cuh"
#include "dependent_launch.cuh"
#include "export.cuh"
#include "launch.cuh"
#include "workspace.cuh"

namespace prenorm::cuda {
namespace {

constexpr int warps = 4, threads = 32 * warps;
constexpr int queries = 16;  // of a block
constexpr int warp_keys = 128, part_keys = warps * warp_keys;

/// Keys that a warp loads at once; a divisor of mask_tile.
template <int D>
constexpr int step_keys = D <= 64    ? 64
                          : D <= 128 ? 32
                                     : 16;

/// The powers of a query's scores for some keys: what they are relative to, and their sum.
struct Powers {
  float largest, sum;
};

/// A block's shared memory. Sums of values come in the place of the warp's own tiles.
template <class T, int D>
struct Shared {
  T q[queries * D];
  union {
    struct {
      T k[step_keys<D> * D], v[step_keys<D> * D];
    };
    float sums[queries]
              [D + 8];  // padded: the four rows that half a warp stores are in different banks
  } warp[warps];
  Powers powers[warps][queries];
};

/// One element of the sums of values, and its query's powers, for several ranges of keys.
struct Combined {
  Powers powers;
  float value;
};

/// Combines `count` ranges in their order; those of a query, and the sums of one column, lie so far
/// apart. Where the maximum of all is -infinity all sums are 0.
__device__ Combined combine(int count, const Powers* powers, std::int64_t powers_apart,
                            const float* values, std::int64_t values_apart, float scale) {
  float largest = -INFINITY;
#pragma unroll 8
  for (int i = 0; i < count; ++i) largest = fmaxf(largest, powers[i * powers_apart].largest);
  const float shift = largest == -INFINITY ? 0.0f : largest;
  Combined all{{largest, 0}, 0};
#pragma unroll 8
  for (int i = 0; i < count; ++i) {
    const Powers some = powers[i * powers_apart];
    const float correction = exp2_fast((some.largest - shift) * scale);
    all.powers.sum += some.sum * correction;
    all.value += values[i * values_apart] * correction;
  }
  return all;
}

/// What the first kernel leaves: of row b * queries + query and each part.
struct Parts {
  int count;
  Powers* powers;  // [rows, count]
  float* values;   // [rows, count, d_v]
};

/// Copies rows as they are aligned. By a warp.
template <int D, int tile_rows, class T>
__device__ void load_tile(T* tile, const T* from, std::int64_t stride, int rows,
                          std::int64_t columns, bool aligned) {
  if (aligned) {
    copy_tile<D, tile_rows, 32>(tile, from, stride, rows, static_cast<int>(columns));
  } else {
    load_elements<D, tile_rows, 32>(tile, from, stride, rows, static_cast<int>(columns));
  }
}

/// A block takes 16 queries of the range first ... end - 1 and a part of the keys. `scale` is for
/// powers of 2; `lead` is the headroom as a score. Blocks of the same keys are side by side.
template <class T, int D>
__global__ void __launch_bounds__(threads, 2)
    attend_part(Attention<T> a, MaskTiles tiles, std::int64_t first, std::int64_t end, Parts parts,
                bool aligned, float scale, float lead) {
  let_the_next_begin();
  constexpr int N = step_keys<D>, steps = warp_keys / N;
  Shared<T, D>& shared = *dynamic_shared<Shared<T, D>>();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  auto& own = shared.warp[warp];
  const auto blocks = static_cast<unsigned>(ceil_div(end - first, queries));  // of the same keys
  const unsigned part = blockIdx.x / blocks % static_cast<unsigned>(parts.count);
  const std::int64_t b = blockIdx.x / blocks / static_cast<unsigned>(parts.count);
  const std::int64_t row = std::int64_t{blockIdx.x % blocks} * queries, query = first + row;
  const int rows = static_cast<int>(min(end - query, std::int64_t{queries}));
  const std::int64_t mask_row = tiles.row_of(a.batch.part(a.of_mask, b), row);
  const std::int64_t first_key = std::int64_t{part} * part_keys + warp * warp_keys;
  const T* const k = a.k + a.batch.part(a.of_k, b) + first_key * a.k_stride;
  const T* const v = a.v + a.batch.part(a.of_v, b) + first_key * a.v_stride;

  const auto kind_at = [&](int step) {
    return kind_of(a, tiles, mask_row, query, rows,
                   first_key + step * N / mask_tile * std::int64_t{mask_tile});
  };
  const auto from = [&](int step) {  // the first that is not empty
    while (step < steps && kind_at(step) == TileKind::empty) ++step;
    return step;
  };
  const auto load = [&](T* to, const T* rows_of, std::int64_t stride, std::int64_t columns,
                        int step) {
    if (step < steps) {
      const int there = static_cast<int>(min(a.m - first_key - step * N, std::int64_t{N}));
      load_tile<D, N>(to, rows_of + step * N * stride, stride, there, columns, aligned);
    }
    commit_copies();  // of nothing, too: groups are counted
  };

  if (warp == 0) {
    load_tile<D, queries>(shared.q, a.q + a.batch.part(a.of_q, b) + query * a.q_stride, a.q_stride,
                          rows, a.d_k, aligned);
  }
  commit_copies();
  int step = from(0);
  load(own.k, k, a.k_stride, a.d_k, step);
  load(own.v, v, a.v_stride, a.d_v, step);
  wait_for_copies<2>();
  __syncthreads();  // q is loaded

  float out[1][D / 8][4] = {};
  Rows<1> softmax;
  while (step < steps) {
    wait_for_copies<1>();
    __syncwarp();  // k is loaded
    float score[1][N / 8][4] = {};
    multiply_keys<D>(score, shared.q, own.k, 0);  // step: scores
    // step: mask
    if (kind_at(step) == TileKind::mixed) {
      mask_scores(score, a, tiles, mask_row, query, first_key + step * N);
    }
    unsigned p[1][N / 16][4];
    // step: maximum, weights
    online_softmax<T>(p, score, softmax, out, scale, lead);
    step = from(step + 1);
    __syncwarp();  // no lane reads k any more
    load(own.k, k, a.k_stride, a.d_k, step);
    wait_for_copies<1>();
    __syncwarp();                  // v is loaded
    add_values<D>(out, p, own.v);  // step: values
    __syncwarp();                  // no lane reads v any more
    load(own.v, v, a.v_stride, a.d_v, step);
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float sum = sum_of_row(softmax.sum[0][r]);
    const int of = 8 * r + lane / 4;
    if (lane % 4 == 0) shared.powers[warp][of] = {softmax.largest[0][r], sum};
#pragma unroll
    for (int j = 0; j < D / 8; ++j) {
      const Vector<float, 2> pair{{out[0][j][2 * r], out[0][j][2 * r + 1]}};
      store_shared(&own.sums[of][8 * j + lane % 4 * 2], pair);
    }
  }
  __syncthreads();
  for (int of = 0; of < rows; ++of) {
    const std::int64_t to = (b * (end - first) + row + of) * parts.count + part;
    for (int column = static_cast<int>(threadIdx.x); column < a.d_v; column += threads) {
      const Combined all =
          combine(warps, &shared.powers[0][of], queries, &shared.warp[0].sums[of][column],
                  sizeof(shared.warp[0]) / sizeof(float), scale);
      parts.values[to * a.d_v + column] = all.value;
      if (column == 0) parts.powers[to] = all.powers;
    }
  }
}

/// One thread per output of queries first ... first + count - 1.
template <class T>
__global__ void __launch_bounds__(128) combine_parts(Attention<T> a, std::int64_t first,
                                                     std::int64_t count, Parts parts, float scale) {
  wait_for_the_kernel_before();
  const std::int64_t column = global_thread() % a.d_v, row = global_thread() / a.d_v;
  const std::int64_t b = row / count;
  if (b >= a.batch.size) return;
  const Combined all = combine(parts.count, parts.powers + row * parts.count, 1,
                               parts.values + row * parts.count * a.d_v + column, a.d_v, scale);
  T* const y = a.y + a.batch.part(a.of_y, b) + (first + row % count) * a.y_stride;
  y[column] = narrow<T>(all.powers.sum == 0 ? all.value : all.value / all.powers.sum);
}

Workspace powers_memory("attention: powers of parts of the keys");
Workspace values_memory("attention: values of parts of the keys");

template <int D, class T>
void launch_parts(const Attention<T>& a, Stream stream) {
  static_assert(sizeof(Shared<T, D>) <= 99 * 1024, "more than a block of 8.6 or 8.9 can have");
  const float scale = scale_of_powers(a);
  const bool aligned = rows_are_aligned(a);
  const std::int64_t count = ceil_div(a.m, part_keys);
  for_query_ranges(
      a.mask, a.masks, a.n, a.m, stream,
      [&](std::int64_t first, std::int64_t range, const MaskTiles& tiles) {
        const std::int64_t rows = a.batch.size * range;
        const Parts parts{static_cast<int>(count), powers_memory.get<Powers>(rows * count, stream),
                          values_memory.get<float>(rows * count * a.d_v, stream)};
        launch({"attention of parts", a.batch.size * count * ceil_div(range, queries), threads,
                stream, sizeof(Shared<T, D>)},
               attend_part<T, D>, a, tiles, first, first + range, parts, aligned, scale,
               headroom<T> / scale);
        launch(early({"attention, combined", ceil_div(rows * a.d_v, 128), 128, stream}),
               combine_parts<T>, a, first, range, parts, scale);
      });
}

}  // namespace

template <class T>
bool attention_split(const Attention<T>& a, Stream stream) {
  if constexpr (sizeof(T) == 2) {
    return with_columns<256>(a, [&](auto columns) { launch_parts<columns>(a, stream); });
  }
  return false;
}

template bool attention_split<double>(const Attention<double>&, Stream);
template bool attention_split<float>(const Attention<float>&, Stream);
template bool attention_split<float16>(const Attention<float16>&, Stream);
template bool attention_split<bfloat16>(const Attention<bfloat16>&, Stream);

namespace {

template <class T>
void launch_split_keys(View<const T> q, View<const T> k, View<const T> v,
                       std::optional<View<const bool>> mask, Stream stream, View<T> y) {
  const Attention<T> a = attention_of(q, k, v, mask, y);
  if (has_outputs(a) && !attention_split(a, stream)) {
    throw not_implemented("split keys take float16 and bfloat16 with d_k and d_v up to 256");
  }
}

}  // namespace

PRENORM_CUDA_VARIANT(scaled_dot_product_attention, split_keys, launch_split_keys)

}  // namespace prenorm::cuda
