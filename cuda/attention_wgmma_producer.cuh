// The producer of a block of attention v4 (attention_wgmma.cu): one warp, which has tiles copied.
#pragma once

#include "attention_wgmma.cuh"

namespace prenorm::cuda::v4 {

/// The number of another item for this block; call.items or more: there is none. A block begins
/// with the item of its own number, and asks once for each, so all of them together ask as often as
/// there are items.
template <class T>
__device__ unsigned next_item(const Call<T>& call) {
  const unsigned asked = atomicAdd(call.asked, 1u);
  if (asked == call.items - 1) *call.asked = 0;  // the last time: for the next launch
  return gridDim.x + asked;
}

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
/// the order in which the consumers use them and free their stages.
template <class T, int d>
class Producer {
 public:
  __device__ Producer(Shared<T, d>& shared, const Maps& maps, const Call<T>& call)
      : shared_(shared), maps_(maps), call_(call), lane_(static_cast<int>(threadIdx.x)) {}

  __device__ __forceinline__ void produce_all() {
    Work work = work_on(blockIdx.x);
    while (work.is) work = produce(work);
  }

 private:
  /// An item, and what only the producer needs to know of it.
  struct Work {
    bool is;  // else there are no more
    Item item;
    int query_tile;  // of the launch
    TensorRows::Corner q, k, v;
  };

  /// Some hundreds of instructions, for its divisions.
  __device__ __forceinline__ Work work_on(unsigned number) const {
    const Attention<T>& a = call_.a;
    if (number >= call_.items) return {};
    const unsigned first = number / (call_.group * call_.query_tiles) * call_.group;
    const unsigned heads = min(call_.group, static_cast<unsigned>(a.batch.size) - first);
    const unsigned i = number - first * call_.query_tiles;  // of these heads' items
    const std::int64_t batch = first + i % heads;
    // The last queries come first: under a causal mask they have the most work.
    const auto query_tile = static_cast<int>(call_.query_tiles - 1 - i / heads);
    const int first_query = static_cast<int>(call_.first) + query_tile * tile;
    const std::int64_t end_query = min(std::int64_t{first_query} + tile, a.n);
    const std::int64_t end_key = a.causal ? min(a.m, end_query) : a.m;
    return {true,
            {first_query, static_cast<int>(end_key), call_.y.corner(a.batch.part(a.of_y, batch)),
             a.batch.part(a.of_mask, batch)},
            query_tile,
            call_.q.corner(a.batch.part(a.of_q, batch)),
            call_.k.corner(a.batch.part(a.of_k, batch)),
            call_.v.corner(a.batch.part(a.of_v, batch))};
  }

  /// Returns the next work. It looks for that when all tiles are on their way: the consumers are
  /// then two tiles behind.
  __device__ __forceinline__ Work produce(const Work& work) {
    if (lane_ == 0) {
      wait(shared_.q_empty[items_.index], items_.parity ^ 1);
      shared_.items[items_.index] = work.item;
    }
    int number_before = -1;  // of the tile whose values are still to come
    const int tiles = (work.item.end_key + tile - 1) / tile;
    for (int first = 0; first < tiles; first += 32) {
      const unsigned kinds = kinds_of(work, first + lane_);
      unsigned wanted = __ballot_sync(0xffffffffu, kinds != 0);
      for (; wanted != 0; wanted &= wanted - 1) {
        const int which = __ffs(static_cast<int>(wanted)) - 1, number = first + which;
        const Message message = tile_message(number, __shfl_sync(0xffffffffu, kinds, which));
        if (lane_ == 0) {
          send(message);
          load_tile(shared_.k[keys_.index], maps_.k, work.k, number * tile,
                    shared_.k_full[keys_.index]);
          if (number_before < 0) {
            load_tile(shared_.q[items_.index], maps_.q, work.q, work.item.first_query,
                      shared_.q_full[items_.index]);
          }
          load_values(work.v, number_before);
        }
        number_before = number;
        keys_ = keys_.next();
      }
    }
    unsigned number = 0;
    if (lane_ == 0) {
      if (number_before < 0) arrive(shared_.q_full[items_.index]);  // the item is there, without Q
      load_values(work.v, number_before);
      number = next_item(call_);
    }
    const Work next = work_on(__shfl_sync(0xffffffffu, number, 0));
    if (lane_ == 0) {
      send(next.is ? no_more_tiles : no_more_items);
      arrive(shared_.k_full[keys_.index]);
    }
    keys_ = keys_.next();
    items_ = items_.next();
    return next;
  }

  /// Of the four tiles of the mask at a tile of keys, which may be beyond the last.
  __device__ __forceinline__ unsigned kinds_of(const Work& work, int number) const {
    unsigned kinds = 0;
#pragma unroll
    for (int consumer = 0; consumer < consumers; ++consumer) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key_tile = 2 * number + half, end = (key_tile + 1) * mask_tile;
        const int first_query = work.item.first_query + consumer * consumer_rows;
        if (end - mask_tile >= work.item.end_key) continue;
        auto kind = static_cast<Kind>(
            call_.mask.kind(work.item.mask, 2 * work.query_tile + consumer, key_tile));
        if (kind == Kind::full &&
            (end > work.item.end_key || (call_.a.causal && end > first_query + 1))) {
          kind = Kind::clipped;
        }
        kinds |= static_cast<unsigned>(kind) << (4 * consumer + 2 * half);
      }
    }
    return kinds;
  }

  __device__ void send(Message message) {
    wait(shared_.k_empty[keys_.index], keys_.parity ^ 1);
    shared_.message[keys_.index] = message;
  }

  /// Of this tile, if it is one.
  __device__ void load_values(TensorRows::Corner v, int number) {
    if (number < 0) return;
    wait(shared_.v_empty[values_.index], values_.parity ^ 1);
    load_tile(shared_.v[values_.index], maps_.v, v, number * tile, shared_.v_full[values_.index]);
    values_ = values_.next();
  }

  Shared<T, d>& shared_;
  const Maps& maps_;
  const Call<T>& call_;
  int lane_;
  Stage<stages> items_, keys_, values_;  // the next ones; the values' on the first lane
};

}  // namespace prenorm::cuda::v4
