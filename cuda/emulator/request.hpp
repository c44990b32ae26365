// A request: the addresses that the lanes of a warp access by one instruction at one time; and what
// a device's memory makes of it.
//
// Global memory moves in sectors of 32 bytes, four of which are a line of 128 (CUDA C++ Best
// Practices Guide, "Coalesced Access to Global Memory"). Shared memory has 32 banks of 4 bytes. A
// bank gives one word at a time, which any number of lanes may take (CUDA C++ Programming Guide,
// "Shared Memory", compute capability 5.x and later); so a request takes as many wavefronts as the
// busiest bank has different words. A wavefront carries 128 bytes at most: accesses of 8 bytes go
// by halves of the warp, of 16 bytes by quarters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace prenorm::emulator {

constexpr unsigned request_lanes = 32;
constexpr std::uint64_t sector_bytes = 32, line_bytes = 128, bank_bytes = 4;
constexpr unsigned banks = 32;

struct Request {
  std::uint32_t lanes = 0;  // those that take part
  std::array<std::uint64_t, request_lanes> addresses{};
};

/// What a request asks of global memory.
struct GlobalCost {
  std::uint64_t sectors = 0, lines = 0;
  std::uint64_t ideal_sectors = 0;  // as many as the distinct bytes would fill
};

/// Calls visit(lane) for each lane that takes part.
inline void for_each_lane(std::uint32_t lanes, auto visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

/// The addresses of the lanes that take part, sorted; returns how many there are.
inline unsigned sorted_addresses(const Request& request,
                                 std::array<std::uint64_t, request_lanes>& sorted) {
  unsigned count = 0;
  bool in_order = true;
  for_each_lane(request.lanes, [&](unsigned lane) {
    in_order = in_order && (count == 0 || sorted[count - 1] <= request.addresses[lane]);
    sorted[count++] = request.addresses[lane];
  });
  if (!in_order) std::sort(sorted.begin(), sorted.begin() + count);
  return count;
}

/// Accesses of `bytes` each. Calls visit(sector) for each sector once, by its address over 32.
inline GlobalCost global_cost(const Request& request, std::uint64_t bytes, auto visit) {
  std::array<std::uint64_t, request_lanes> sorted;
  const unsigned count = sorted_addresses(request, sorted);
  GlobalCost cost;
  std::uint64_t distinct = 0, end = 0, next_sector = 0, next_line = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t begin = sorted[i], last = begin + bytes - 1;
    if (last + 1 > end) distinct += last + 1 - std::max(begin, end);
    end = std::max(end, last + 1);
    for (std::uint64_t s = std::max(begin / sector_bytes, next_sector); s <= last / sector_bytes;
         ++s) {
      ++cost.sectors;
      next_sector = s + 1;
      visit(s);
    }
    for (std::uint64_t l = std::max(begin / line_bytes, next_line); l <= last / line_bytes; ++l) {
      ++cost.lines;
      next_line = l + 1;
    }
  }
  cost.ideal_sectors = (distinct + sector_bytes - 1) / sector_bytes;
  return cost;
}

/// What a request asks of shared memory.
struct SharedCost {
  std::uint64_t wavefronts = 0;
  std::uint64_t ideal_wavefronts = 0;  // without any conflict
};

/// Accesses of `bytes` each; the addresses count from the beginning of shared memory.
inline SharedCost shared_cost(const Request& request, std::uint64_t bytes) {
  const unsigned at_once = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;  // lanes of a wavefront
  SharedCost cost;
  for (unsigned first = 0; first < request_lanes; first += at_once) {
    const std::uint32_t group = at_once == 32 ? ~0u : ((1u << at_once) - 1) << first;
    if ((request.lanes & group) == 0) continue;
    std::array<std::uint64_t, 2 * request_lanes> words;  // twice: accesses may not be aligned
    unsigned count = 0;
    for_each_lane(request.lanes & group, [&](unsigned lane) {
      const std::uint64_t at = request.addresses[lane];
      for (std::uint64_t w = at / bank_bytes; w <= (at + bytes - 1) / bank_bytes; ++w) {
        if (count < words.size()) words[count++] = w;
      }
    });
    const auto begin = words.begin(), end = begin + count;
    if (!std::is_sorted(begin, end)) std::sort(begin, end);
    std::array<std::uint64_t, banks> in_bank{};
    std::uint64_t most = 0;
    std::for_each(begin, std::unique(begin, end),
                  [&](std::uint64_t word) { most = std::max(most, ++in_bank[word % banks]); });
    cost.wavefronts += most;
    cost.ideal_wavefronts += 1;
  }
  return cost;
}

/// The largest number of lanes that have the same address.
inline unsigned most_at_one_address(const Request& request) {
  std::array<std::uint64_t, request_lanes> sorted;
  const unsigned count = sorted_addresses(request, sorted);
  unsigned most = 0, same = 0;
  for (unsigned i = 0; i < count; ++i) {
    same = i > 0 && sorted[i] == sorted[i - 1] ? same + 1 : 1;
    most = std::max(most, same);
  }
  return most;
}

}  // namespace prenorm::emulator
