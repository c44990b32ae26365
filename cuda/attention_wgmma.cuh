// What a block of attention v4 is made of, and its producer. attention_wgmma.cu says how it works,
// and has the consumers.
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
              tile == 2 * mask_tile);

// Registers per thread: at the launch 65536 / 384, rounded down to a multiple of 8, is 168. The
// consumers take what the producer gives back: 56 + 2 * 224 = 3 * 168.
constexpr int producer_registers = 56;
constexpr int consumer_registers = 224;
static_assert(producer_registers + consumers * consumer_registers == (1 + consumers) * 168);

/// What the producer sends with a tile of keys: its number, and the kinds of its four tiles of the
/// mask, two bits each (told_kind). Number -1: there are no more tiles, and the other is the next
/// item of work.
struct Told {
  int number;
  unsigned kinds_or_item;
};
constexpr int no_more = -1;

/// Of the queries of a consumer and half of the keys.
__device__ TileKind told_kind(unsigned kinds, int consumer, int half) {
  return static_cast<TileKind>(kinds >> (4 * consumer + 2 * half) & 3);
}

template <class T, int d>
struct alignas(1024) Shared {
  static constexpr int panels = d / panel_columns;
  using Tile = T[panels][tile][panel_columns];
  Tile q, y, k[places], v[places];
  std::uint64_t q_full, k_full[places], k_empty[places], v_full[places], v_empty[places];
  Told told[places];  // with K
};

/// A place of the rings, and the parity of its phase.
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

/// All that a launch needs to know. An item of work is `tile` queries of a batch index.
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
  float lead;                   // the headroom of probabilities (mma.cuh), as a score
};

/// Another item for this block; call.items or more: there is none. A block begins with the item of
/// its own number, and asks until there is none, so all of them together ask as often as there are
/// items.
template <class T>
__device__ unsigned next_item(const Call<T>& call) {
  const unsigned asked = atomicAdd(call.asked, 1u);
  if (asked == call.items - 1) *call.asked = 0;  // the last time: for the next launch
  return gridDim.x + asked;
}

/// Which queries and keys an item has. In 32 bits, as TMA counts: n and m, rounded up to tiles,
/// fit.
struct Block {
  std::int64_t batch;
  int query_tile;  // of the launch
  int first_query;
  int end_key;  // no query attends from here on, by m or by causality
};

template <class T>
__device__ Block block_of(const Call<T>& call, unsigned item) {
  const unsigned first = item / (call.together * call.query_tiles) * call.together;
  const unsigned heads = min(call.together, static_cast<unsigned>(call.a.batch.size) - first);
  const unsigned i = item - first * call.query_tiles;  // of these heads' items
  // The last queries come first: under a causal mask they have the most work.
  const auto query_tile = static_cast<int>(call.query_tiles - 1 - i / heads);
  const int first_query = static_cast<int>(call.first) + query_tile * tile;
  const std::int64_t end_query = min(std::int64_t{first_query} + tile, call.a.n);
  const std::int64_t end_key = call.a.causal ? min(call.a.m, end_query) : call.a.m;
  return {first + i % heads, query_tile, first_query, static_cast<int>(end_key)};
}

// ---- the producer -------------------------------------------------------------------------------

/// Has TMA copy `tile` rows of a matrix, from `row` on, panel by panel. Rows beyond the end are
/// loaded as zeros, and count as bytes too.
template <int panels, class T>
__device__ void load_tile(T (&to)[panels][tile][panel_columns], const CUtensorMap& map,
                          TensorRows::Corner corner, int row, std::uint64_t& full) {
  arrive_expecting(full, sizeof(to));
#pragma unroll
  for (int panel = 0; panel < panels; ++panel) {
    const std::int32_t at[] = {corner.column + panel * panel_columns, row, corner.part};
    ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_shared, ::cuda::ptx::space_global,
                                      to[panel], &map, at, &full);
  }
}

/// The producer's warp, which goes on to the next item while the consumers are at the last one. Its
/// lanes check 32 tiles of the mask at a time; the first lane has the tiles copied that are not
/// empty, in ascending order. A tile's values are loaded after the keys of the next tile, which is
/// the order in which the consumers use them and free their places.
template <class T, int d>
class Producer {
 public:
  __device__ Producer(Shared<T, d>& shared, const Maps& maps, const Call<T>& call)
      : shared_(shared), maps_(maps), call_(call), lane_(static_cast<int>(threadIdx.x)) {}

  /// Returns the next item.
  __device__ __forceinline__ unsigned produce(unsigned item) {
    const Attention<T>& a = call_.a;
    const Block block = block_of(call_, item);
    const auto q = call_.q.corner(a.batch.part(a.of_q, block.batch)),
               k = call_.k.corner(a.batch.part(a.of_k, block.batch)),
               v = call_.v.corner(a.batch.part(a.of_v, block.batch));
    const std::int64_t mask = a.batch.part(a.of_mask, block.batch);
    int number_before = no_more;  // of the tile whose values are still to come
    const int tiles = (block.end_key + tile - 1) / tile;
    for (int first = 0; first < tiles; first += 32) {
      const unsigned kinds = kinds_of(block, mask, first + lane_);
      unsigned wanted = __ballot_sync(0xffffffffu, kinds != 0);
      for (; wanted != 0; wanted &= wanted - 1) {
        const int which = __ffs(static_cast<int>(wanted)) - 1;
        const Told told{first + which, __shfl_sync(0xffffffffu, kinds, which)};
        if (lane_ == 0) {
          tell(told);
          load_tile(shared_.k[keys_.index], maps_.k, k, told.number * tile,
                    shared_.k_full[keys_.index]);
          // The first keys have the place of the last item's last ones, as the word that there were
          // no more has the other. Where those were released, their scores are there, and Q is
          // free.
          static_assert(places == 2);
          if (number_before == no_more) {
            load_tile(shared_.q, maps_.q, q, block.first_query, shared_.q_full);
          }
          load_values(v, number_before);
        }
        number_before = told.number;
        keys_ = keys_.next();
      }
    }
    unsigned next = 0;
    if (lane_ == 0) {
      next = next_item(call_);
      tell({no_more, next});
      arrive(shared_.k_full[keys_.index]);
      load_values(v, number_before);
    }
    keys_ = keys_.next();
    return __shfl_sync(0xffffffffu, next, 0);
  }

 private:
  /// Of the four tiles of the mask at a tile of keys, which may be beyond the last.
  __device__ unsigned kinds_of(const Block& block, std::int64_t mask, int number) const {
    unsigned kinds = 0;
#pragma unroll
    for (int consumer = 0; consumer < consumers; ++consumer) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key_tile = 2 * number + half;
        if (key_tile * mask_tile >= block.end_key) continue;
        const TileKind kind = call_.mask.kind(mask, 2 * block.query_tile + consumer, key_tile);
        kinds |= static_cast<unsigned>(kind) << (4 * consumer + 2 * half);
      }
    }
    return kinds;
  }

  __device__ void tell(Told told) {
    wait(shared_.k_empty[keys_.index], keys_.parity ^ 1);
    shared_.told[keys_.index] = told;
  }

  /// Of this tile, if it is one.
  __device__ void load_values(TensorRows::Corner v, int number) {
    if (number == no_more) return;
    wait(shared_.v_empty[values_.index], values_.parity ^ 1);
    load_tile(shared_.v[values_.index], maps_.v, v, number * tile, shared_.v_full[values_.index]);
    values_ = values_.next();
  }

  Shared<T, d>& shared_;
  const Maps& maps_;
  const Call<T>& call_;
  int lane_;
  Place keys_, values_;  // the next ones of the rings; the values' on the first lane
};

}  // namespace prenorm::cuda::v4
