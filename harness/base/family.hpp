// A process and its descendants: their number of tasks, their memory, what they have open.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
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
  std::size_t tasks = 0;     // processes and threads
  std::size_t resident = 0;  // bytes; memory that several of them share counts for each

  /// For a child process and everything it has started, read from /proc.
  ///
  /// All callers share one reading of /proc, which is at most `most_age` old: reading it for each
  /// of many workers would take a processor.
  static Family of(pid_t ancestor);
  static constexpr std::chrono::milliseconds most_age{15};
};

/// Calls `visit(FOLDER, NAME)` for each descriptor of a process: an open folder of /proc, and the
/// link's name in it. False: they cannot be read.
bool visit_descriptors(pid_t process, const std::function<void(int, const char*)>& visit);

}  // namespace prenorm::harness
