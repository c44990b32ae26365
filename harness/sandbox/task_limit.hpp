// Limits a submission's processes and threads where RLIMIT_NPROC does not: that counts all of a
// user's, and root's not at all.
#pragma once

#include <chrono>
#include <cstddef>
#include <sys/types.h>

namespace prenorm::sandbox {

/// For the supervisor, which is asked before each new process or thread is made.
class TaskLimit {
 public:
  /// At most that many processes and threads of the group (processes.hpp) beside this one.
  TaskLimit(std::size_t most, pid_t group) : most_(most), group_(group) {}

  /// Whether there may be one more.
  bool admits();

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t most_;
  pid_t group_;
  std::size_t left_ = 0;  // that may be made before the next count
  Clock::time_point next_count_{};
};

}  // namespace prenorm::sandbox
