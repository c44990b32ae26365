// Packing a boolean mask for attention (mask_tiles.cuh): one pass over it, 16 bytes at a time where
// its rows are aligned to that.
#include "mask_tiles.cuh"

#include "dependent_launch.cuh"
#include "launch.cuh"
#include "types.cuh"
#include "workspace.cuh"

namespace prenorm::cuda {
namespace {

Workspace kinds_memory("attention: the kinds of the mask's tiles");
Workspace bits_memory("attention: the packed mask");

__device__ TileKind kind_of(bool any, bool all) {
  return !any ? TileKind::empty : all ? TileKind::full : TileKind::mixed;
}

/// A block takes a tile, a warp 16 rows of it, one after the other; its lanes are 32 keys, and
/// their vote is half of a row's word. Lane i keeps the word of row i, so that they are stored
/// together.
__global__ void __launch_bounds__(128)
    pack_mask_tiles(const bool* mask, std::int64_t n, std::int64_t m, std::int64_t first,
                    std::int64_t count, TileKind* kinds, unsigned long long* bits,
                    std::int64_t query_tiles, std::int64_t key_tiles) {
  wait_for_the_kernel_before();
  let_the_next_begin();
  const std::int64_t tile = blockIdx.x, key_tile = tile % key_tiles,
                     row_of_tiles = tile / key_tiles;
  const std::int64_t query_tile = row_of_tiles % query_tiles;
  mask += row_of_tiles / query_tiles * n * m;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  bool any = false, all = true;
  unsigned long long words = 0;
  for (unsigned i = 0; i < mask_tile / 4; ++i) {
    const unsigned row = warp * (mask_tile / 4) + i;
    const std::int64_t query = query_tile * mask_tile + row;
    unsigned long long word = 0;
    for (unsigned half = 0; half < 2; ++half) {
      const std::int64_t key = key_tile * mask_tile + half * 32 + lane;
      const bool there = query < count && key < m;
      const bool attends = there && mask[(first + query) * m + key];
      any = any || attends;
      all = all && (attends || !there);
      const unsigned votes = __ballot_sync(0xffffffffu, attends);
      word |= static_cast<unsigned long long>(votes) << 32 * half;
    }
    if (lane == i) words = word;
  }
  if (lane < mask_tile / 4) bits[tile * mask_tile + warp * (mask_tile / 4) + lane] = words;
  any = __syncthreads_or(any) != 0;
  all = __syncthreads_and(all) != 0;
  if (threadIdx.x == 0) kinds[tile] = kind_of(any, all);
}

/// 16 entries of a row as bits. They are bytes of 0 or 1, so of a word the product has that of byte
/// k at 24 + k, and nothing above; below no two meet.
__device__ unsigned bits_of(const Vector<unsigned, 4>& entries) {
  unsigned bits = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) bits |= (entries.element[k] * 0x01020408u >> 24) << 4 * k;
  return bits;
}

/// Where rows are aligned to 16 bytes. A warp takes a tile, a lane 16 keys of every eighth row, for
/// all of which it asks at once. So a quarter of a word comes from each of four lanes side by side,
/// which store it where it is in memory. There are less than 2^32 tiles, which take 2 TiB.
__global__ void __launch_bounds__(128)
    pack_mask_vectors(const bool* mask, std::int64_t n, std::int64_t m, std::int64_t first,
                      std::int64_t count, TileKind* kinds, unsigned short* quarters,
                      unsigned query_tiles, unsigned key_tiles, unsigned tiles) {
  wait_for_the_kernel_before();
  let_the_next_begin();
  constexpr int rows = mask_tile / 8;
  const unsigned tile = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (tile >= tiles) return;  // a whole warp
  const unsigned row_of_tiles = tile / key_tiles, of_mask = row_of_tiles / query_tiles;
  const std::int64_t key = std::int64_t{tile % key_tiles} * mask_tile + lane % 4 * 16;
  const std::int64_t query = std::int64_t{row_of_tiles % query_tiles} * mask_tile + lane / 4;
  const auto* from =
      reinterpret_cast<const unsigned*>(mask + (of_mask * n + first + query) * m + key);
  const auto there = [&](int i) { return query + 8 * i < count && key < m; };
  Vector<unsigned, 4> entries[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    entries[i] = load_vector_where<4>(there(i), from + 8 * i * m / 4);
  }
  bool any = false, all = true;
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const unsigned attended = bits_of(entries[i]);
    any = any || attended != 0;
    all = all && (attended == 0xffffu || !there(i));
    quarters[std::int64_t{tile} * 4 * mask_tile + i * 32 + lane] =
        static_cast<unsigned short>(attended);
  }
  any = __any_sync(0xffffffffu, any) != 0;
  all = __all_sync(0xffffffffu, all) != 0;
  if (lane == 0) kinds[tile] = kind_of(any, all);
}

std::int64_t tiles_of(std::int64_t extent) { return ceil_div(extent, mask_tile); }

/// Of one query of all masks.
std::int64_t bytes_a_query(std::int64_t masks, std::int64_t m) {
  return masks * tiles_of(m) * static_cast<std::int64_t>(sizeof(unsigned long long));
}

}  // namespace

std::int64_t packed_queries(std::int64_t masks, std::int64_t n, std::int64_t m) {
  constexpr std::int64_t step = most_query_tile;
  const std::int64_t fit = most_packed_bytes / std::max<std::int64_t>(1, bytes_a_query(masks, m));
  return std::min(std::max(fit / step, std::int64_t{1}), ceil_div(n, step)) * step;
}

std::int64_t packed_mask_bytes(std::int64_t masks, std::int64_t n, std::int64_t m) {
  const std::int64_t query_tiles = tiles_of(std::min(n, packed_queries(masks, n, m)));
  return query_tiles * (mask_tile * bytes_a_query(masks, m) + masks * tiles_of(m));
}

MaskTiles pack_mask(const bool* mask, std::int64_t masks, std::int64_t n, std::int64_t m,
                    std::int64_t first, std::int64_t count, Stream stream) {
  const std::int64_t query_tiles = tiles_of(count), key_tiles = tiles_of(m);
  const std::int64_t tiles = masks * query_tiles * key_tiles;
  auto* kinds = kinds_memory.get<TileKind>(tiles, stream);
  auto* bits = bits_memory.get<unsigned long long>(tiles * mask_tile, stream);
  if (m % 16 == 0 && reinterpret_cast<std::uintptr_t>(mask) % 16 == 0) {
    launch(early({"pack_mask_vectors", ceil_div(tiles, 4), 128, stream}), pack_mask_vectors, mask,
           n, m, first, count, kinds, reinterpret_cast<unsigned short*>(bits), query_tiles,
           key_tiles, tiles);
  } else {
    launch(early({"pack_mask_tiles", tiles, 128, stream}), pack_mask_tiles, mask, n, m, first,
           count, kinds, bits, query_tiles, key_tiles);
  }
  return {kinds, bits, query_tiles, key_tiles};
}

}  // namespace prenorm::cuda
