// The memory of one call: shared by the judging program, which fills and checks it, and the worker,
// which gives it to the solution. Made anew for each call, so nothing lives from one to the next.
//
// Each buffer (a tensor, the message) has pages of its own. On the worker's side, where the
// solution is, unmapped pages lie before and behind them:
//
//     | guard ... | canary | data | canary | guard ... | canary | data | canary | guard ... |
//                          ^ aligned to 256 bytes   ^ end of a page
//
// An access that runs into a guard page is a SIGSEGV at an address which says what was left and by
// how far; a smaller step changes a canary.
#pragma once

#include "fixture/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Where one buffer lies. Offsets and lengths in bytes; pages are whole.
struct Region {
  std::uint64_t file_offset = 0;     // of its pages in the shared memory
  std::uint64_t address_offset = 0;  // of its pages in the worker's stretch of addresses
  std::uint64_t length = 0;          // of its pages
  std::uint64_t data_offset = 0;     // of the data within them
  std::uint64_t bytes = 0;           // of data
};

/// Where all buffers of a call lie.
struct Layout {
  std::vector<Region> regions;   // in the order of the sizes that were asked for
  std::uint64_t file_bytes = 0;  // of the shared memory
  std::uint64_t span = 0;        // of the stretch of addresses, guards included
};

/// Lays out buffers of those sizes, in random order and at random distances.
Layout lay_out(std::span<const std::size_t> sizes, std::mt19937_64& random);

/// The nearest buffer to an address, given as an offset in the stretch: "12 bytes past the end".
struct Nearest {
  std::size_t region = 0;
  std::string where;
};
Nearest nearest(const Layout& layout, std::uint64_t offset);

/// The judging program's side: all pages, without guards between them.
class Arena {
 public:
  /// Throws std::bad_alloc where there is no memory.
  Arena(Layout layout, std::mt19937_64& random);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Layout& layout() const { return layout_; }
  /// Of the shared memory, whose size nobody can change; belongs to the arena.
  int descriptor() const { return descriptor_; }
  std::byte* data(std::size_t region) const;

  /// Which canary was written over: "4 bytes past the end"; empty where they are whole.
  std::string damage(std::size_t region) const;

 private:
  Layout layout_;
  std::vector<std::uint64_t> seeds_;  // of the canaries, one a region
  int descriptor_ = -1;
  std::byte* memory_ = nullptr;
};

/// The worker's side: every buffer's pages, guards all around.
class GuardedMemory {
 public:
  /// Throws std::bad_alloc where there is no room.
  GuardedMemory(const Layout& layout, int descriptor);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* base() const { return base_; }
  std::byte* data(const Region& region) const {
    return base_ + region.address_offset + region.data_offset;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t span_ = 0;
};

/// What unwritten outputs hold: for a floating type a signaling NaN with random digits, which no
/// arithmetic gives (it makes NaNs quiet); else nothing that could be told from an answer.
class Poison {
 public:
  Poison(DType dtype, std::mt19937_64& random);

  void fill(std::byte* data, std::size_t bytes, std::mt19937_64& random) const;
  /// The first element that still holds it; -1 for none.
  std::int64_t find(const std::byte* data, std::int64_t elements) const;

 private:
  DType dtype_;
  std::uint64_t pattern_ = 0;
};

}  // namespace prenorm::harness
