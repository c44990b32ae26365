// What a block of attention v4 has in common: its rings in shared memory, and what the producer
// tells the consumers. attention_wgmma.cu says how it works.
#pragma once

#include "attention.cuh"
#include "mask_tiles.cuh"
#include "tensor_tiles.cuh"
#include "wgmma.cuh"

#include <cuda.h>

namespace prenorm::cuda::v4 {

constexpr int tile = 128;  // queries of a block; keys at a time
constexpr int consumer_queries = 64;
constexpr int consumers = 2;                  // warpgroups
constexpr int warpgroup = 128;                // threads
constexpr int places = 2;                     // of each ring
constexpr int warp_queries = 16;              // of a consumer's warp, by wgmma's layout
constexpr std::int64_t most_items = 1 << 30;  // and as many may be asked for in vain
static_assert(tile == consumers * consumer_queries && tile == most_query_tile &&
              tile == 2 * mask_tile && consumer_queries == mask_tile);

// Registers per thread: at the launch 65536 / 384, rounded down to a multiple of 8, is 168. The
// consumers take what the producer gives back: 56 + 2 * 224 = 3 * 168.
constexpr int producer_registers = 56;
constexpr int consumer_registers = 224;
static_assert(producer_registers + consumers * consumer_registers == (1 + consumers) * 168);

/// What the producer finds of a tile of the mask: as TileKind, but `clipped` where the mask is full
/// and the end of the keys or causality is in the tile.
enum class Kind : unsigned { empty, full, mixed, clipped };

/// What the producer sends with a tile of keys: its number, and the kinds of its four tiles of the
/// mask, two bits each; or that the item has no more tiles, and the last one that there are no more
/// items.
using Told = std::uint32_t;
constexpr Told no_more_tiles = Told{1} << 31, no_more_items = no_more_tiles | 1;

__device__ constexpr bool is_tile(Told told) { return told < no_more_tiles; }

__device__ constexpr Told told_tile(int number, unsigned kinds) {
  return static_cast<Told>(number) << 8 | kinds;
}
__device__ constexpr int number_of(Told told) { return static_cast<int>(told >> 8); }

/// Of the queries of a consumer: the left half of the keys in the lower bits, and the right one.
__device__ constexpr unsigned kinds_for(int consumer, Told told) {
  return told >> 4 * consumer & 15;
}
constexpr unsigned both_full = 5;  // of these

/// An item of work: `tile` queries of a batch index. In 32 bits, as TMA counts: n and m, rounded up
/// to tiles, fit.
struct Item {
  int first_query;
  int end_key;           // no query attends from here on, by m or by causality
  TensorRows::Corner y;  // of the batch index
  std::int64_t mask;     // likewise
};

/// The rings. Q's is of items: an item's y takes the place of its Q.
template <class T, int d>
struct alignas(1024) Shared {
  static constexpr int panels = d / panel_columns;
  using Tile = T[panels][tile][panel_columns];
  Tile q[places], k[places], v[places];
  std::uint64_t q_full[places], q_empty[places], k_full[places], k_empty[places], v_full[places],
      v_empty[places];
  Item items[places];  // with Q
  Told told[places];   // with K
};

/// A place of a ring, and the parity of its phase.
struct Place {
  int index = 0;
  unsigned parity = 0;
  __device__ Place next() const {
    return index + 1 < places ? Place{index + 1, parity} : Place{0, parity ^ 1};
  }
};

struct Maps {
  CUtensorMap q, k, v, y;
};

/// All that a launch needs to know.
template <class T>
struct Call {
  Attention<T> a;
  TensorRows q, k, v, y;
  std::int64_t first;           // query of this launch
  MaskTiles mask;               // of these
  unsigned items, query_tiles;  // in all; of a batch index
  unsigned together;            // batch indices whose items are worked on side by side
  unsigned* asked;              // how often next_item was called in this launch
  float scale;                  // log2(e) / sqrt(d_k)
  float lead, slack;            // of powers (soften), as scores
};

}  // namespace prenorm::cuda::v4
