// How much memory a family of processes takes.
#pragma once

#include "base/family.hpp"

#include <chrono>
#include <cstddef>
#include <future>

namespace prenorm::harness {

/// Counts what several processes share once, and what the kernel holds for them besides: page
/// tables, mappings, and what sockets, pipes and files of /proc may hold. What cannot be read
/// counts as much as it could be.
///
/// A count takes milliseconds, and a process can keep the kernel from answering for as long as it
/// likes: it is made on a thread of its own.
class MemoryMeter {
 public:
  /// What one end of a Unix socket may have sent that nobody has read: as much as the kernel gives
  /// a new one (net.core.wmem_default), and a message of that size that it takes before the limit
  /// is reached. What is read counts for who sent it, so net.core.rmem_default says nothing here;
  /// nor do the largest sizes (wmem_max), as a sandbox lets nobody change a buffer's.
  static std::size_t bytes_of_socket();

  /// `family` without processes that are trusted. At most a little less than the family takes;
  /// exact where that is more than `limit`. When the meter is destroyed, the family must have
  /// ended, or be about to.
  std::size_t bytes(const Family& family, std::size_t limit);

  struct Count {
    std::size_t held = 0;      // by the kernel
    std::size_t exact = 0;     // resident, what is shared once
    std::size_t resident = 0;  // the sum of what each process had then
    std::chrono::steady_clock::duration took{};
  };

 private:
  using Clock = std::chrono::steady_clock;

  void begin_count(const Family& family, std::size_t limit);
  bool take_count(std::chrono::milliseconds wait);
  std::size_t at_most(const Family& family) const;

  std::future<Count> counting_;
  Count last_;
  Clock::time_point count_began_{}, next_count_{};
};

}  // namespace prenorm::harness
