// In which order the tiles of a product are computed.
#pragma once

#include "device.cuh"

namespace prenorm::cuda {

/// The tiles of y in the order of work. An item is a tile, or some below each other. As many items
/// as a group is high come below each other, then the next columns of the group: so what is worked
/// on at the same time is about as high as wide, and its operands are in the cache when they are
/// needed again.
struct Tiles {
  unsigned items_down, tiles_across;
  unsigned group;  // items, at least 1

  struct Corner {
    unsigned item_down, tile_across;
  };
  __host__ __device__ unsigned items() const { return items_down * tiles_across; }
  __host__ __device__ Corner corner(unsigned item) const {
    const unsigned first = item / (group * tiles_across) * group;
    const unsigned high = group < items_down - first ? group : items_down - first;
    const unsigned i = item - first * tiles_across;
    return {first + i % high, i / high};
  }
};

}  // namespace prenorm::cuda
