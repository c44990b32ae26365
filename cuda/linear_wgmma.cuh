// What a block of the product's version 5 is made of, and its producer. linear_wgmma.cu says how
// it works, and has the consumers.
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

}  // namespace prenorm::cuda::v5
