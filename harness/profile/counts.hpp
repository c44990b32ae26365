// What a library has counted of its kernels: docs/profile.md says what the numbers mean.
#pragma once

#include "base/json.hpp"
#include "base/paths.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prenorm::harness::profile {

/// The library's text cannot be understood.
struct BadCounts : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Space { global, shared };
enum class Kind { load, store, atomic, copy };
/// "global", "load", ...
std::string_view name(Space space);
std::string_view name(Kind kind);

/// A line of a source; the line of a function that was inlined comes before that of its caller.
struct Line {
  std::string file;  // without its folder
  int number = 0;    // 0: not known
  auto operator<=>(const Line&) const = default;
};

/// Requests of warps, added up.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;                                  // that took part
  std::uint64_t bytes = 0;                                  // that they asked for
  std::uint64_t sectors = 0, lines = 0, ideal_sectors = 0;  // of global memory
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;       // of shared memory
  std::uint64_t at_one_address = 0;  // of atomics: the lanes that meet, the most of each request

  void add(const Traffic& other);
};

/// One warp's addresses, from a multiple of 128 bytes on; nothing: a lane that takes no part.
using LaneAddresses = std::array<std::optional<std::uint64_t>, 32>;

/// What one line of the source does.
struct Access {
  std::uint64_t place = 0;  // in the library's file
  std::vector<Line> lines;  // from the innermost on; empty: not known
  Space space = Space::global;
  Kind kind = Kind::load;
  std::uint64_t width = 0;  // bytes of each lane's access
  Traffic traffic;
  LaneAddresses worst;  // of the request with the most sectors or wavefronts beyond the least
  std::uint64_t worst_cost = 0, worst_least = 0;  // those of that request, and the least
};

/// What nvcc has given a kernel for one architecture.
struct KernelResources {
  std::uint64_t registers = 0;                       // of a thread
  std::uint64_t shared_bytes = 0;                    // of static shared memory
  std::uint64_t stack_bytes = 0, spilled_bytes = 0;  // of a thread, in device memory
};

/// What a device's own counters say of a kernel: for as many launches as were counted here, by the
/// mean of those that the device has counted. NaN: that it does not say.
struct DeviceCounters {
  std::uint64_t launches = 0;  // on the device
  // Of global memory, without copies by cp.async and atomics, which a device counts by themselves.
  double load_requests = 0, load_sectors = 0, store_requests = 0, store_sectors = 0;
  double bytes_read = 0, bytes_written = 0;  // of the device's memory, behind its caches
};

/// Launches of one kernel with the same grid, block and shared memory.
struct KernelCounts {
  std::string kernel;
  std::array<std::uint64_t, 3> grid{}, block{};
  std::uint64_t shared_bytes = 0;  // of dynamic shared memory
  std::uint64_t launches = 0, barriers = 0;
  std::uint64_t sectors_read = 0, sectors_written = 0;  // different ones in each launch
  std::map<std::string, std::uint64_t> operations;      // of warps: "__shfl_xor_sync", "mma.sync"
  std::vector<Access> accesses;
  std::set<std::string> functions;                // or symbols, that the accesses are in
  std::optional<KernelResources> resources;       // nothing: not known
  std::optional<DeviceCounters> device_counters;  // nothing: not known

  /// Of all accesses of these kinds; a copy is a load of global and a store of shared memory.
  Traffic loads(Space space) const;
  Traffic loads_without_copies() const;  // of global memory
  Traffic stores(Space space) const;
  Traffic atomics(Space space) const;
  Traffic shared() const;  // all of it
  std::uint64_t shuffles() const;
  std::uint64_t votes() const;
  std::uint64_t operations_named(std::string_view beginning) const;
  std::uint64_t tensor_flops() const;
  /// Bytes that must come from or go to memory at least: each sector once in each launch.
  std::uint64_t least_bytes() const { return 32 * (sectors_read + sectors_written); }
};

/// Reads the text of prenorm_counts. Throws BadCounts.
std::vector<KernelCounts> parse_counts(const std::string& text);

/// Merges accesses that agree in lines, space, kind and width.
void merge_lines(std::vector<KernelCounts>& kernels);

/// Fills in functions, and lines of the source that the counts do not say, from the library's debug
/// information, by addr2line, and merges. Without addr2line, or debug information, they stay empty.
void find_lines(std::vector<KernelCounts>& kernels, const fs::path& library);

}  // namespace prenorm::harness::profile
