// The memory of one call: shared by the judging program, which fills and checks it, and the worker,
// which passes it to the solution. It is new for each call, so nothing survives from one to the
// next.
//
// Each buffer (a tensor, the message) has its own pages. On the worker's side, where the
// solution runs, unmapped pages surround them:
//
//     | guard ... | canary | data | canary | guard ... | canary | data | canary | guard ... |
//                          ^ aligned to 256 bytes   ^ end of a page
//
// An access to a guard page is a SIGSEGV, whose address tells which buffer was overrun and by
// how far; a smaller step changes a canary.
#pragma once

#include "fixture/dtype.hpp"
#include "worker/device.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Places buffers of those sizes in random order at random distances.
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
  /// Throws std::bad_alloc.
  Arena(Layout layout, std::mt19937_64& random);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Layout& layout() const { return layout_; }
  /// Descriptor of the shared memory, whose size is fixed; owned by the arena.
  int descriptor() const { return descriptor_; }
  std::byte* data(std::size_t region) const;

  /// Which canary was overwritten: "4 bytes past the end"; empty if none.
  std::string damage(std::size_t region) const;

 private:
  Layout layout_;
  std::vector<std::uint64_t> seeds_;  // of the canaries, one a region
  int descriptor_ = -1;
  std::byte* memory_ = nullptr;
};

/// The initial content of outputs: for a floating type a signaling NaN with random digits, which no
/// arithmetic produces (it makes NaNs quiet); for other types, values that look like any answer.
class Poison {
 public:
  Poison(DType dtype, std::mt19937_64& random);

  void fill(std::byte* data, std::size_t bytes, std::mt19937_64& random) const;
  /// The first element that still has it; -1 for none.
  std::int64_t find(const std::byte* data, std::int64_t elements) const;

 private:
  DType dtype_;
  std::uint64_t pattern_ = 0;
};

}  // namespace prenorm::harness
