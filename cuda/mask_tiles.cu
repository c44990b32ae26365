// Packing a boolean mask for attention (mask_tiles.cuh): one pass over it, one block per tile.
#include "mask_tiles.cuh"

#include "launch.cuh"
#include "workspace.cuh"

namespace prenorm::cuda {
namespace {

Workspace kinds_memory("attention: the kinds of the mask's tiles");
Workspace bits_memory("attention: the packed mask");

/// A warp takes 16 rows of a tile, one after the other; its lanes are 32 keys, and their vote is
/// half of a row's word. Lane i keeps the word of row i, so that they are stored together.
__global__ void __launch_bounds__(128)
    pack_mask_tiles(const bool* mask, std::int64_t n, std::int64_t m, std::int64_t first,
                    std::int64_t count, TileKind* kinds, unsigned long long* bits,
                    std::int64_t query_tiles, std::int64_t key_tiles) {
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
  if (threadIdx.x == 0) {
    kinds[tile] = !any ? TileKind::empty : all ? TileKind::full : TileKind::mixed;
  }
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
  launch({"pack_mask_tiles", tiles, 128, stream}, pack_mask_tiles, mask, n, m, first, count, kinds,
         bits, query_tiles, key_tiles);
  return {kinds, bits, query_tiles, key_tiles};
}

}  // namespace prenorm::cuda
