// The tiles of a product (linear.cu), for its versions from v3 on: in which order they are
// computed.
#pragma once

#include "product.cuh"
#include "types.cuh"

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

/// The tiles of v3 and v4, product_tile rows and columns of y each.
constexpr int product_tile = 128;
template <class T>
Tiles tiles_of(const Product<T>& p) {
  constexpr unsigned group = 8;
  return {static_cast<unsigned>(ceil_div(p.rows, product_tile)),
          static_cast<unsigned>(ceil_div(p.d_out, product_tile)), group};
}

/// Whether all rows of x and weight begin at multiples of 16 bytes.
template <class T>
bool rows_are_aligned(const Product<T>& p) {
  const auto aligned = [](const T* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
  return aligned(p.x) && aligned(p.weight) && p.d_in % vector_width<T> == 0;
}

}  // namespace prenorm::cuda
