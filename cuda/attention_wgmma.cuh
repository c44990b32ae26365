// What a block of attention v4 has in common: its rings in shared memory, and what the producer
// tells the consumers. attention_wgmma.cu says how it works.
#pragma once

#include "attention.cuh"
#include "mask_tiles.cuh"
#include "tensor_tiles.cuh"
#include "warpgroups.cuh"

#include <cuda.h>

namespace prenorm::cuda::v4 {

constexpr int tile = 128;                    // queries of a block; keys at a time
constexpr int stages = 2;                    // of each ring
constexpr std::int64_t max_items = 1 << 30;  // and as many may be asked for in vain
static_assert(tile == consumers * consumer_rows && tile == most_query_tile &&
              tile == 2 * mask_tile && consumer_rows == mask_tile);

constexpr int producer_registers = 56;
constexpr int consumer_registers = 224;
static_assert(registers_fit<producer_registers, consumer_registers>);

/// What the producer finds of a tile of the mask: as TileKind, but `clipped` where the mask is full
/// and the end of the keys or causality is in the tile.
enum class Kind : unsigned { empty, full, mixed, clipped };

/// What the producer sends with a tile of keys: its number, and the kinds of its four tiles of the
/// mask, two bits each; or that the item has no more tiles, and the last one that there are no more
/// items.
using Message = std::uint32_t;
constexpr Message no_more_tiles = Message{1} << 31, no_more_items = no_more_tiles | 1;

__device__ constexpr bool is_tile(Message message) { return message < no_more_tiles; }

__device__ constexpr Message tile_message(int number, unsigned kinds) {
  return static_cast<Message>(number) << 8 | kinds;
}
__device__ constexpr int number_of(Message message) { return static_cast<int>(message >> 8); }

/// Of the queries of a consumer: the left half of the keys in the lower bits, and the right one.
__device__ constexpr unsigned kinds_for(int consumer, Message message) {
  return message >> 4 * consumer & 15;
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

/// The rings, of tiles in panels of 64 columns with the swizzle of 128 bytes. Q's is of items: an
/// item's y takes the stage of its Q, which is released by all threads of the consumers.
template <class T, int d>
struct alignas(1024) Shared {
  static constexpr int panels = d / panel_columns;
  using Tile = T[panels][tile][panel_columns];
  Tile q[stages], k[stages], v[stages];
  std::uint64_t q_full[stages], q_empty[stages], k_full[stages], k_empty[stages], v_full[stages],
      v_empty[stages];
  Item items[stages];       // with Q
  Message message[stages];  // with K
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
  unsigned group;               // batch indices whose items are worked on side by side
  unsigned* asked;              // how often next_item was called in this launch
  float scale;                  // log2(e) / sqrt(d_k)
  float lead, slack;            // of powers (online_softmax), as scores
};

}  // namespace prenorm::cuda::v4
