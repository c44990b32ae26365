// What a block of the product on Hopper's tensor cores is made of, and its producer.
// product_wgmma.cu says how it works, and has the consumers.
#pragma once

#include "product.cuh"
#include "product_tiles.cuh"
#include "tensor_tiles.cuh"

#include <cuda.h>

#include "wgmma_product.cuh"

namespace prenorm::cuda::product_v5 {

constexpr int warpgroup = 128;  // threads
constexpr int consumers = 2;    // warpgroups
constexpr int consumer_rows = 64;
constexpr int tile_rows = consumers * consumer_rows;
constexpr int warp_rows = 16;         // of a consumer's warp, by wgmma's layout
constexpr int depth = panel_columns;  // terms of the sums in a stage
constexpr int consumer_warps = consumers * warpgroup / 32;

// Registers per thread: at the launch 65536 / 384, rounded down to a multiple of 8, is 168. The
// consumers take what the producer gives back.
constexpr int producer_registers = 40;
constexpr int consumer_registers = 232;
static_assert(producer_registers + consumers * consumer_registers == (1 + consumers) * 168);

/// The choices: columns of a tile, stages of the ring, blocks of a cluster.
template <int columns_, int stages_, int cluster_>
struct Shape {
  static constexpr int columns = columns_, stages = stages_, cluster = cluster_;
  static_assert(cluster == 1 || cluster == 2);
};

template <class T, class S>
struct alignas(1024) Shared {
  T x[S::stages][tile_rows][panel_columns];
  T weight[S::stages][2][S::columns / 2][panel_columns];  // in two boxes
  T y[2][consumer_warps][warp_rows][panel_columns];       // on the way out; each warp has its own
  std::uint64_t full[S::stages], empty[S::stages];
  static constexpr std::size_t stage_bytes =
      sizeof(T) * (tile_rows + S::columns) * panel_columns;
};

/// A stage of the ring, and the parity of its phase.
template <int stages>
struct Stage {
  int index = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++index < stages) return;
    index = 0;
    parity ^= 1;
  }
};

struct Maps {
  CUtensorMap x, weight[2], y;  // weight: of a gated product there are two
};

template <class T>
struct Call {
  Product<T> p;
  Tiles tiles;   // an item is one for each block of a cluster, below each other
  int rounds;    // stages that the sum over d_in takes
  bool by_tma;   // y's rows are multiples of 16 bytes
  int box_step;  // columns of y from a tile to the next
};

/// The producer, one thread: keeps the ring of stages full, from tile to tile without a break.
/// Rows and columns beyond the matrices are loaded as zeros, and count as bytes too.
template <class T, class S, bool gated>
__device__ __forceinline__ void produce_all(Shared<T, S>& shared, const Maps& maps,
                                            const Call<T>& call) {
  constexpr int half = S::columns / 2;
  const unsigned rank = cluster_rank<S::cluster>();
  Stage<S::stages> stage;
  for (unsigned item = blockIdx.x / S::cluster; item < call.tiles.items();
       item += gridDim.x / S::cluster) {
    const auto [down, across] = call.tiles.corner(item);
    const auto row = static_cast<std::int32_t>((down * S::cluster + rank) * tile_rows),
               column = static_cast<std::int32_t>(across) * call.box_step;
    for (int round = 0; round < call.rounds; ++round, stage.advance()) {
      wait(shared.empty[stage.index], stage.parity ^ 1);
      std::uint64_t& full = shared.full[stage.index];
      arrive_expecting(full, Shared<T, S>::stage_bytes);
      const std::int32_t of_x[] = {round * depth, row, 0};
      ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_shared, ::cuda::ptx::space_global,
                                        shared.x[stage.index], &maps.x, of_x, &full);
      // A gated product has the same rows of both weights, another one all rows of the first.
      const auto load_half = [&](unsigned box) {
        const std::int32_t at[] = {
            round * depth, gated ? column : column + static_cast<std::int32_t>(box) * half, 0};
        const CUtensorMap& map = maps.weight[gated ? box : 0];
        T* const to = shared.weight[stage.index][box][0];
        if constexpr (S::cluster == 1) {
          ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_shared, ::cuda::ptx::space_global,
                                            to, &map, at, &full);
        } else {
          load_for_cluster<S::cluster>(to, map, at, full);
        }
      };
      if constexpr (S::cluster == 1) {
        load_half(0);
        load_half(1);
      } else {
        load_half(rank);  // and the other block the other half, for both
      }
    }
  }
}

}  // namespace prenorm::cuda::product_v5
