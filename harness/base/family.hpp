// A process and its descendants, and what they take: tasks, memory, room on the disk.
#pragma once

#include "base/tree.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace prenorm::harness {

struct Family {
  struct Member {
    pid_t process;         // or one of its threads, where the first has ended
    std::size_t resident;  // bytes
    bool has_ended;        // a zombie
  };
  std::vector<Member> members;
  std::size_t tasks = 0;         // processes and threads
  std::size_t resident = 0;      // bytes; memory that several of them share counts for each
  double processor_seconds = 0;  // also of those that have ended and whose parents know it

  /// For a child process and everything it has started, read from /proc.
  ///
  /// All callers share one reading of /proc, which is at most `most_age` old: reading it for each
  /// of many workers would take a processor.
  static Family of(pid_t ancestor);
  static constexpr std::chrono::milliseconds most_age{15};
};

/// How much memory a family takes: what several processes share counts once; and what the
/// kernel holds for them: page tables, mappings, and what sockets, pipes and files of /proc may
/// hold. What cannot be read counts as the most that it may be.
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

/// How much a family keeps in the folders that it may write.
///
/// It is measured from time to time: a look takes the longer the more there is. A look comes sooner
/// where a file system loses room so fast that the limit may be exceeded before it is time: that
/// is asked at each call.
class DiskMeter {
 public:
  /// Why it is too much, in words; nothing if it is not, or it is not time for a look yet.
  /// `family` without processes that are trusted.
  std::optional<std::string> exceeded(const Family& family, const std::vector<fs::path>& folders,
                                      const TreeLimits& limits);

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point soonest_look_{}, next_look_{};
  std::uintmax_t free_ = 0;      // bytes of the file systems, at the last look
  std::uintmax_t much_ = 0;      // so many fewer, and it may be too much
  std::map<pid_t, int> unseen_;  // looks at which a process could not be asked
};

}  // namespace prenorm::harness
