// The product of linear.cu on Hopper's own tensor-core instructions. Equation, shapes and errors:
// reference/linear.hpp.
//
//   wgmma        a block computes 128 x 256 outputs: two consumers, warpgroups of 64 rows each,
//                whose sums are 128 registers of each thread
//   TMA          a producer has the copy engine load stages of 64 terms, which go around in a ring;
//                most of its registers go to the consumers
//   clusters     two blocks below each other need the same rows of weight: each has half of them
//                loaded, into the memory of both
//   persistent   as many blocks as run at a time take tile after tile: the next tile's stages are
//                loaded while the last one's outputs are stored
//   the ending   residual, activation or gate are computed from the sums, before the one rounding
//
// The terms of each sum are added in the same order whatever the shape, so a row has the same bits
// in any batch.
//
// Use u = 0, 1, ... of a stage: the consumers wait for phase u of `full` (the producer's arrival
// and all bytes, also those that the other block of the cluster has sent), and the producer, before
// it fills the stage, for phase u - 1 of `empty`: each warp of the consumers, of all blocks that it
// fills the stage of, is done. The parity of a phase is u % 2.
#include "product_wgmma.cuh"

#include "activations.cuh"
#include "launch.cuh"

#include <algorithm>
#include <cstring>

namespace prenorm::cuda {
namespace product_v5 {

// ---- endings: what becomes of a sum -------------------------------------------------------------

struct Plain {
  static constexpr bool gated = false, adds = false;
  static __device__ float of(float sum, float) { return sum; }
};
/// The second number is the residual.
struct Added {
  static constexpr bool gated = false, adds = true;
  static __device__ float of(float sum, float residual) { return sum + residual; }
};
template <class Activation>
struct Activated {
  static constexpr bool gated = false, adds = false;
  static __device__ float of(float sum, float) { return Activation::rounded(sum); }
};
/// The second number is the sum with the other weight.
template <class Activation>
struct Gated {
  static constexpr bool gated = true, adds = false;
  static __device__ float of(float sum, float other) { return Activation::rounded(sum) * other; }
};

// ---- the consumers ------------------------------------------------------------------------------

/// A consumer's thread: wgmma's layout of 64 rows (wgmma.cuh).
struct Lane {
  int consumer, warp, lane;
  __device__ explicit Lane(int thread)
      : consumer(static_cast<int>(threadIdx.y) - 1), warp(thread / 32), lane(thread % 32) {}
  __device__ int number() const { return consumer * (warpgroup / 32) + warp; }  // of the warp
  __device__ int row(int r) const { return lane / 4 + 8 * r; }                  // of it; r = 0, 1
  __device__ int column(int group) const { return 8 * group + 2 * (lane % 4); }  // and the next
};

/// sum = x weightᵀ, of a tile.
template <class T, class S>
__device__ __forceinline__ void sum_tile(float (&sum)[S::columns / 2], Shared<T, S>& shared,
                                         int rounds, Stage<S::stages>& stage, Lane at) {
  // A stage is released to all that fill it: a lane arrives at each one's barrier.
  const auto release = [&](int index) {
    __syncwarp();
    if constexpr (S::cluster == 1) {
      if (at.lane == 0) arrive(shared.empty[index]);
    } else {
      if (at.lane < S::cluster) arrive_at(shared.empty[index], static_cast<unsigned>(at.lane));
    }
  };
  int before = 0;  // the stage whose products may still be under way
  for (int round = 0; round < rounds; ++round, stage.advance()) {
    wait(shared.full[stage.index], stage.parity);
    const std::uint64_t x = along_columns(
                            shared_address(shared.x[stage.index][at.consumer * consumer_rows])),
                        weight = along_columns(shared_address(shared.weight[stage.index]));
    wgmma_fence();
#pragma unroll
    for (unsigned step = 0; step < depth / 16; ++step) {
      // 16 columns are 32 bytes, and a descriptor counts in 16.
      wgmma_tile<T>(sum, x + 2 * step, weight + 2 * step, round > 0 || step > 0);
    }
    wgmma_commit();
    if (round > 0) {  // these products under way, those before are done
      wgmma_wait<1>();
      release(before);
    }
    before = stage.index;
  }
  wgmma_wait<0>();
  hold(sum);
  release(before);
}

/// Two neighbouring outputs: elements i and i + 1 of a thread's sums.
template <class Ending, class T, int n>
__device__ __forceinline__ unsigned ended(const float (&sum)[n], int i, unsigned residual) {
  float other[2] = {};
  if constexpr (Ending::gated) {
    other[0] = sum[n / 2 + i];
    other[1] = sum[n / 2 + i + 1];
  }
  if constexpr (Ending::adds) {
    T two[2];
    std::memcpy(two, &residual, sizeof two);
    other[0] = widen(two[0]);
    other[1] = widen(two[1]);
  }
  return pack<T>(Ending::of(sum[i], other[0]), Ending::of(sum[i + 1], other[1]));
}

/// The outputs of a warp: 16 rows from `row` on, columns from `column` on. By way of shared memory,
/// 64 columns at a time, and TMA, which leaves out what is beyond y.
template <class Ending, class T, class S>
__device__ __forceinline__ void store_panels(const float (&sum)[S::columns / 2],
                                             Shared<T, S>& shared, const Maps& maps,
                                             const Product<T>& p, int row, int column, Lane at) {
  constexpr int panels = S::columns / panel_columns / (Ending::gated ? 2 : 1);
#pragma unroll
  for (int panel = 0; panel < panels; ++panel) {
    const int first = column + panel * panel_columns;
    unsigned residual[16];  // all are under way before the first is used
    if constexpr (Ending::adds) {
#pragma unroll
      for (int j = 0; j < 16; ++j) {
        const std::int64_t y_row = row + at.row(j % 2), y_column = first + at.column(j / 2);
        residual[j] = 0;
        if (y_row < p.rows && y_column < p.d_out) {  // rows are aligned: so is the next column
          residual[j] = *reinterpret_cast<const unsigned*>(p.residual + y_row * p.row_of_y() +
                                                           y_column);
        }
      }
    }
    // TMA must have read what is replaced: the last panel but one, where there are two places.
    if (at.lane == 0) wait_for_stores<panels % 2 == 0 ? 1 : 0>();
    __syncwarp();
    T* const to = shared.y[panel % 2][at.number()][0];
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      *reinterpret_cast<unsigned*>(to + swizzled(at.row(j % 2), at.column(j / 2))) =
          ended<Ending, T>(sum, 32 * panel + 2 * j, residual[j]);  // step: round once
    }
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);  // so TMA sees what was stored
    __syncwarp();
    if (at.lane == 0) {
      const std::int32_t corner[] = {first, row, 0};
      ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_global, ::cuda::ptx::space_shared,
                                        &maps.y, corner, to);
      ::cuda::ptx::cp_async_bulk_commit_group();
    }
  }
}

/// The same where rows are not aligned: each output by itself.
template <class Ending, class T, int n>
__device__ __forceinline__ void store_elements(const float (&sum)[n], const Product<T>& p, int row,
                                               int column, Lane at) {
#pragma unroll
  for (int j = 0; j < (Ending::gated ? n / 4 : n / 2); ++j) {
    const std::int64_t y_row = row + at.row(j % 2);
    T residual[2] = {}, y[2];
    T* const to = p.y + y_row * p.row_of_y() + column + at.column(j / 2);
    const auto there = [&](int e) {
      return y_row < p.rows && column + at.column(j / 2) + e < p.d_out;
    };
    if constexpr (Ending::adds) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (there(e)) residual[e] = p.residual[to - p.y + e];
      }
    }
    unsigned pair;
    std::memcpy(&pair, residual, sizeof pair);
    pair = ended<Ending, T>(sum, 2 * j, pair);  // step: round once
    std::memcpy(y, &pair, sizeof pair);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (there(e)) to[e] = y[e];
    }
  }
}

template <class Ending, class T, class S>
__device__ __forceinline__ void consume_all(Shared<T, S>& shared, const Maps& maps,
                                            const Call<T>& call) {
  const Lane at(static_cast<int>(threadIdx.x));
  Stage<S::stages> stage;
  float sum[S::columns / 2];
#pragma unroll
  for (int i = 0; i < S::columns / 2; ++i) sum[i] = 0;  // not by = {}, which goes by local memory
  for (unsigned item = blockIdx.x / S::cluster; item < call.tiles.items();
       item += gridDim.x / S::cluster) {
    sum_tile(sum, shared, call.rounds, stage, at);  // step: widen, sum of products
    const auto [down, across] = call.tiles.corner(item);
    const auto tile = static_cast<int>(down * S::cluster + cluster_rank<S::cluster>());
    const int row = tile * tile_rows + at.number() * warp_rows,
              column = static_cast<int>(across) * call.box_step;
    if (call.by_tma) {
      store_panels<Ending>(sum, shared, maps, call.p, row, column, at);
    } else {
      store_elements<Ending>(sum, call.p, row, column, at);
    }
  }
  // Shared memory must last until TMA has read it.
  if (at.lane == 0) wait_for_stores<0>();
  __syncwarp();
}

// ---- the kernel and its launch ------------------------------------------------------------------

/// Warpgroup 0 is the producer, the others are consumers: threadIdx.y.
template <class Ending, class T, class S>
__global__ void __launch_bounds__((1 + consumers) * warpgroup, 1)
    multiply_v5(const __grid_constant__ Maps maps, const __grid_constant__ Call<T> call) {
  auto* memory = dynamic_shared<unsigned char>();
  memory += -shared_address(memory) % alignof(Shared<T, S>);  // up to a multiple of 1024
  Shared<T, S>& shared = *reinterpret_cast<Shared<T, S>*>(memory);
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    for (int i = 0; i < S::stages; ++i) {
      ::cuda::ptx::mbarrier_init(&shared.full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.empty[i], S::cluster * consumer_warps);
    }
    // So that TMA and the other block see them as well.
    ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
  }
  if constexpr (S::cluster == 1) {
    __syncthreads();
  } else {
    meet_cluster();
  }
  if (threadIdx.y == 0) {
    fewer_registers<producer_registers>();
    if (threadIdx.x == 0) produce_all<T, S, Ending::gated>(shared, maps, call);
    __syncwarp();
  } else {
    more_registers<consumer_registers>();
    consume_all<Ending>(shared, maps, call);
  }
  // A block lasts until the other one has arrived at its barriers for the last time.
  if constexpr (S::cluster > 1) meet_cluster();
}

/// The driver's function that encodes tensor maps, or null. Found by the runtime, so that nothing
/// is linked with the driver.
inline decltype(&cuTensorMapEncodeTiled) encoder(const char* what) {
  static const auto found = [what] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &result),
          what);
    return result == cudaDriverEntryPointSuccess ? function : nullptr;
  }();
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
}

/// Describes a matrix to TMA, in boxes of `box_rows` rows and 64 columns. False where the encoder
/// refuses it.
template <class T>
bool make_map(CUtensorMap& map, const T* data, std::int64_t rows, std::int64_t columns,
              std::int64_t stride, int box_rows, const char* what) {
  const auto encode = encoder(what);
  if (encode == nullptr || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  if (stride * static_cast<std::int64_t>(sizeof(T)) % 16 != 0) return false;
  const auto unsign = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  const cuuint64_t extents[] = {unsign(columns), unsign(rows), 1};
  const cuuint64_t strides[] = {unsign(stride) * sizeof(T), unsign(rows * stride) * sizeof(T)};
  const cuuint32_t box[] = {panel_columns, static_cast<cuuint32_t>(box_rows), 1},
                   ones[] = {1, 1, 1};
  return encode(&map,
                std::is_same_v<T, float16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                           : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                3, const_cast<T*>(data), extents, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/// y = ending(x weightᵀ); a gated one has the sums with `gate` as well. `group` rows of tiles are
/// worked on side by side. False: rows of x or weight are not aligned to 16 bytes, or too many.
template <class Ending, class S, class T>
bool multiply_wgmma(const Product<T>& p, const T* gate, int group, Stream stream) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // TMA counts in 32 bits, with a sign
  if (p.rows > most || p.d_out > most || p.d_in > most) return false;
  Maps maps;
  std::memset(&maps, 0, sizeof maps);
  const int across = Ending::gated ? S::columns / 2 : S::columns;
  const T* const second = Ending::gated ? gate : p.weight;
  if (!make_map(maps.x, p.x, p.rows, p.d_in, p.d_in, tile_rows, p.name) ||
      !make_map(maps.weight[0], p.weight, p.d_out, p.d_in, p.d_in, S::columns / 2, p.name) ||
      !make_map(maps.weight[1], second, p.d_out, p.d_in, p.d_in, S::columns / 2, p.name)) {
    return false;
  }
  const bool by_tma =
      make_map<T>(maps.y, p.y, p.rows, p.d_out, p.row_of_y(), warp_rows, p.name);
  const auto unsign = [](std::int64_t x) { return static_cast<unsigned>(x); };
  const Tiles tiles{unsign(ceil_div(p.rows, tile_rows * S::cluster)),
                    unsign(ceil_div(p.d_out, across)),
                    unsign(std::max(group / S::cluster, 1))};
  Launch how{"product v5", S::cluster, dim3(warpgroup, 1 + consumers), stream,
             sizeof(Shared<T, S>) + alignof(Shared<T, S>)};
  how.cluster = S::cluster;
  const auto kernel = multiply_v5<Ending, T, S>;
  how.blocks = S::cluster * std::min<std::int64_t>(tiles.items(), clusters_at_a_time(how, kernel));
  launch(how, kernel, maps,
         Call<T>{p, tiles, static_cast<int>(ceil_div(p.d_in, depth)), by_tma, across});
  return true;
}

}  // namespace product_v5
}  // namespace prenorm::cuda
