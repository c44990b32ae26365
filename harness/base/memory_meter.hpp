// How much memory a family of processes takes.
#pragma once

#include "base/family.hpp"

#include <chrono>
#include <cstddef>

namespace prenorm::harness {

/// Counts what several processes share once, and what the kernel holds for them besides: page
/// tables, and what the buffers of their sockets may hold. What cannot be read counts as much as it
/// could be.
///
/// An exact count takes milliseconds, so it is made only where it may matter.
class MemoryMeter {
 public:
  /// At most a little less than the family takes; exact where that is more than `limit`.
  std::size_t bytes(const Family& family, std::size_t limit);

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t exact_ = 0;           // resident, when it was counted last
  std::size_t resident_then_ = 0;   // the sum of what each process had then
  std::size_t held_ = 0;            // by the kernel
  Clock::time_point next_count_{};  // at the latest
};

}  // namespace prenorm::harness
