// What a block of the product's version 5 is made of, its producer, and the sums of its consumers.
// linear_wgmma.cu says how it works, and has what becomes of the sums.
#pragma once

#include "product_tiles.cuh"
#include "tensor_tiles.cuh"
#include "warpgroups.cuh"

#include <cuda.h>

namespace prenorm::cuda::v5 {

constexpr int tile_rows = consumers * consumer_rows, tile_columns = 256;
constexpr int depth = panel_columns;  // terms of the sums in a stage
constexpr int stages = 4;

constexpr int producer_registers = 40;
constexpr int consumer_registers = 232;
static_assert(registers_fit<producer_registers, consumer_registers>);

template <class T>
struct alignas(1024) Shared {
  T x[stages][tile_rows][panel_columns];
  T weight[stages][2][tile_columns / 2][panel_columns];  // in two boxes
  T y[2][consumer_warps][warp_rows][panel_columns];      // on the way out; each warp has its own
  std::uint64_t full[stages], empty[stages];
  static constexpr std::size_t stage_bytes = sizeof(T) * (tile_rows + tile_columns) * depth;
};

struct Maps {
  CUtensorMap x, weight[2], y;  // weight: of a gated product there are two
};

template <class T>
struct Call {
  Product<T> p;
  Tiles tiles;
  int rounds;        // stages that the sum over d_in takes
  int columns_step;  // of y from a tile to the next
  bool by_tma;       // y's rows are multiples of 16 bytes
};

/// The producer, one thread: keeps the ring of stages full, from tile to tile without a break.
/// Rows and columns beyond the matrices are loaded as zeros, and count as bytes too.
template <bool gated, class T>
__device__ __forceinline__ void produce_all(Shared<T>& shared, const Maps& maps,
                                            const Call<T>& call) {
  Stage<stages> stage;
  for (unsigned item = blockIdx.x; item < call.tiles.items(); item += gridDim.x) {
    const auto [down, across] = call.tiles.corner(item);
    const auto row = static_cast<std::int32_t>(down) * tile_rows,
               column = static_cast<std::int32_t>(across) * call.columns_step;
    for (int round = 0; round < call.rounds; ++round, stage = stage.next()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
      std::uint64_t& full = shared.full[stage.index];
      arrive_expecting(full, Shared<T>::stage_bytes);
      const auto load = [&](T* to, const CUtensorMap& map, std::int32_t first_row) {
        const std::int32_t at[] = {round * depth, first_row, 0};
        ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_shared, ::cuda::ptx::space_global, to,
                                          &map, at, &full);
      };
      load(shared.x[stage.index][0], maps.x, row);
      // A gated product has the same rows of both weights, another one twice as many of one.
      load(shared.weight[stage.index][0][0], maps.weight[0], column);
      load(shared.weight[stage.index][1][0], maps.weight[gated ? 1 : 0],
           gated ? column : column + tile_columns / 2);
    }
  }
}

/// Sets up the barriers; before a barrier of the block.
template <class T>
__device__ __forceinline__ void begin_ring(Shared<T>& shared) {
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    for (int i = 0; i < stages; ++i) {
      ::cuda::ptx::mbarrier_init(&shared.full[i], 1);
      ::cuda::ptx::mbarrier_init(&shared.empty[i], consumer_warps);
    }
    // So that TMA sees them as well.
    ::cuda::ptx::fence_mbarrier_init(::cuda::ptx::sem_release, ::cuda::ptx::scope_cluster);
  }
}

/// sum = x weightᵀ, of a tile.
template <class T>
__device__ __forceinline__ void sum_tile(float (&sum)[tile_columns / 2], Shared<T>& shared,
                                         int rounds, Stage<stages>& stage, Lane at) {
  const auto release = [&](int index) {
    __syncwarp();
    if (at.lane == 0) arrive(shared.empty[index]);
  };
  int before = 0;  // the stage whose products may still be under way
  for (int round = 0; round < rounds; ++round, stage = stage.next()) {
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
  fence_registers(sum);
  release(before);
}

}  // namespace prenorm::cuda::v5
