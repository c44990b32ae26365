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
constexpr int consumers = 2;      // warpgroups
constexpr int warpgroup = 128;    // threads
constexpr int places = 2;         // of each ring
constexpr int warp_queries = 16;  // of a consumer's warp, by wgmma's layout
static_assert(tile == consumers * consumer_queries && tile == most_query_tile &&
              tile == 2 * mask_tile);

// Registers per thread: at the launch 65536 / 384, rounded down to a multiple of 8, is 168. The
// consumers take what the producer gives back: 40 + 2 * 232 = 3 * 168.
constexpr int producer_registers = 40;
constexpr int consumer_registers = 232;
static_assert(producer_registers + consumers * consumer_registers == (1 + consumers) * 168);

/// What the producer sends with a tile of keys: its number, and the kinds of its four tiles of the
/// mask, two bits each (told_kind). Number -1: there are no more tiles.
struct Told {
  int number;
  unsigned kinds;
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

/// All that a launch needs to know.
template <class T>
struct Call {
  Attention<T> a;
  TensorRows q, k, v, y;
  std::int64_t first, count;  // queries of this launch
  MaskTiles mask;             // of these
  std::int64_t together;      // batch indices whose blocks run side by side
  float scale;                // log2(e) / sqrt(d_k)
  float lead;                 // the headroom of probabilities (mma.cuh), as a score
};

/// Which queries and keys a block has. In 32 bits, as TMA counts: n and m, rounded up to tiles,
/// fit.
struct Block {
  std::int64_t batch;
  int query_tile;  // of the launch
  int first_query;
  int end_key;  // no query attends from here on, by m or by causality
};

template <class T>
__device__ Block block_of(const Call<T>& call) {
  const std::int64_t query_tiles = ceil_div(call.count, tile);
  const std::int64_t first = blockIdx.x / (call.together * query_tiles) * call.together;
  const std::int64_t heads = min(call.together, call.a.batch.size - first);
  const std::int64_t i = blockIdx.x - first * query_tiles;  // of these heads' blocks
  // The last queries come first: under a causal mask they have the most work.
  const std::int64_t query_tile = query_tiles - 1 - i / heads;
  const std::int64_t first_query = call.first + query_tile * tile;
  const std::int64_t end_query = min(first_query + tile, call.a.n);
  const std::int64_t end_key = call.a.causal ? min(call.a.m, end_query) : call.a.m;
  return {first + i % heads, static_cast<int>(query_tile), static_cast<int>(first_query),
          static_cast<int>(end_key)};
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

/// The work of the producer's warp. Its lanes check 32 tiles of the mask at a time; the first lane
/// has the tiles copied that are not empty, in ascending order. A tile's values are loaded after
/// the keys of the next tile, which is the order in which the consumers use them and free their
/// places.
template <class T, int d>
__device__ __forceinline__ void produce(Shared<T, d>& shared, const Maps& maps, const Call<T>& call,
                                        const Block& block) {
  const Attention<T>& a = call.a;
  const int lane = static_cast<int>(threadIdx.x);
  const auto q = call.q.corner(a.batch.part(a.of_q, block.batch)),
             k = call.k.corner(a.batch.part(a.of_k, block.batch)),
             v = call.v.corner(a.batch.part(a.of_v, block.batch));
  const std::int64_t mask = a.batch.part(a.of_mask, block.batch);
  Place place, before;
  int number_before = no_more;  // of the tile whose values are still to come
  const auto tell = [&](Told told) {
    wait(shared.k_empty[place.index], place.parity ^ 1);
    shared.told[place.index] = told;
  };
  const auto load_values = [&] {
    if (number_before == no_more) return;
    wait(shared.v_empty[before.index], before.parity ^ 1);
    load_tile(shared.v[before.index], maps.v, v, number_before * tile, shared.v_full[before.index]);
  };

  if (lane == 0) load_tile(shared.q, maps.q, q, block.first_query, shared.q_full);
  const int tiles = (block.end_key + tile - 1) / tile;
  for (int first = 0; first < tiles; first += 32) {
    unsigned kinds = 0;
#pragma unroll
    for (int consumer = 0; consumer < consumers; ++consumer) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key_tile = 2 * (first + lane) + half;
        if (key_tile * mask_tile >= block.end_key) continue;
        const TileKind kind = call.mask.kind(mask, 2 * block.query_tile + consumer, key_tile);
        kinds |= static_cast<unsigned>(kind) << (4 * consumer + 2 * half);
      }
    }
    unsigned wanted = __ballot_sync(0xffffffffu, kinds != 0);
    for (; wanted != 0; wanted &= wanted - 1) {
      const int which = __ffs(static_cast<int>(wanted)) - 1;
      const Told told{first + which, __shfl_sync(0xffffffffu, kinds, which)};
      if (lane == 0) {
        tell(told);
        load_tile(shared.k[place.index], maps.k, k, told.number * tile, shared.k_full[place.index]);
        load_values();
      }
      number_before = told.number;
      before = place;
      place = place.next();
    }
  }
  if (lane == 0) {
    tell({no_more, 0});
    arrive(shared.k_full[place.index]);
    load_values();
  }
}

}  // namespace prenorm::cuda::v4
