// A boolean mask as attention's kernels read it: one bit per entry, and tiles marked as empty, full
// or mixed, so that empty ones are skipped and bits are read for mixed ones only.
#pragma once

#include "device.cuh"

#include <algorithm>
#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

constexpr int mask_tile = 64;         // queries and keys of a tile
constexpr int most_query_tile = 128;  // queries that a block of any kernel takes

/// Whether the queries of a tile attend to its keys: none to any, all to all, or some to some.
enum class TileKind : unsigned char { empty, full, mixed };

/// Some queries of all masks, for kernels. Without a mask `kinds` is null, and all is full.
struct MaskTiles {
  const TileKind* kinds = nullptr;           // [masks, query_tiles, key_tiles]
  const unsigned long long* bits = nullptr;  // [masks, query_tiles, key_tiles, mask_tile]: bit j of
                                             // a word is key j of its tile; 0 beyond the mask. The
                                             // queries of a tile lie side by side: a warp reads
                                             // the words of many queries at once
  std::int64_t query_tiles = 0, key_tiles = 0;

  /// The kind of tile `query_tile`, counted from the first query here. Beyond the last: empty.
  __device__ TileKind kind(std::int64_t mask, std::int64_t query_tile,
                           std::int64_t key_tile) const {
    if (query_tile >= query_tiles && kinds != nullptr) return TileKind::empty;
    return kind_of_row(row_of(mask, query_tile * mask_tile), key_tile);
  }

  /// Which keys of a tile a query attends to. For mixed tiles.
  __device__ unsigned long long row(std::int64_t mask, std::int64_t query,
                                    std::int64_t key_tile) const {
    return bits_of_row(row_of(mask, query), key_tile);
  }

  /// The same of all queries of a tile, one after the other.
  __device__ const unsigned long long* rows(std::int64_t mask, std::int64_t query_tile,
                                            std::int64_t key_tile) const {
    return bits + ((mask * query_tiles + query_tile) * key_tiles + key_tile) * mask_tile;
  }

  /// The number of a query's row among those of all masks; and by that number, which a kernel may
  /// compute once, the kind of the row's tile and its keys.
  __device__ std::int64_t row_of(std::int64_t mask, std::int64_t query) const {
    return mask * query_tiles * mask_tile + query;
  }
  __device__ TileKind kind_of_row(std::int64_t of_all, std::int64_t key_tile) const {
    if (kinds == nullptr) return TileKind::full;
    return kinds[of_all / mask_tile * key_tiles + key_tile];
  }
  __device__ unsigned long long bits_of_row(std::int64_t of_all, std::int64_t key_tile) const {
    const std::int64_t tile = of_all / mask_tile * key_tiles + key_tile;
    return bits[tile * mask_tile + of_all % mask_tile];
  }
};

/// The most memory of a packed mask, where 128 queries fit it; tests lower it.
inline std::int64_t most_packed_bytes = 64 << 20;

/// How many queries of masks [masks, n, m] are packed at once: as many as fit most_packed_bytes, a
/// multiple of most_query_tile and at least that. So the memory grows only with m, not with n.
std::int64_t packed_queries(std::int64_t masks, std::int64_t n, std::int64_t m);

/// The memory, in bytes, that pack_mask takes for that.
std::int64_t packed_mask_bytes(std::int64_t masks, std::int64_t n, std::int64_t m);

/// Packs queries first ... first + count - 1 of masks [masks, n, m]. Replaces the result of the
/// last call for this stream.
MaskTiles pack_mask(const bool* mask, std::int64_t masks, std::int64_t n, std::int64_t m,
                    std::int64_t first, std::int64_t count, Stream stream);

/// Calls launch_range(first, count, tiles) for all n queries: once without a mask, else for as many
/// queries at a time as are packed.
template <class LaunchRange>
void for_query_ranges(const bool* mask, std::int64_t masks, std::int64_t n, std::int64_t m,
                      Stream stream, LaunchRange launch_range) {
  if (mask == nullptr) return launch_range(std::int64_t{0}, n, MaskTiles{});
  const std::int64_t step = packed_queries(masks, n, m);
  for (std::int64_t first = 0; first < n; first += step) {
    const std::int64_t count = std::min(step, n - first);
    launch_range(first, count, pack_mask(mask, masks, n, m, first, count, stream));
  }
}

}  // namespace prenorm::cuda
