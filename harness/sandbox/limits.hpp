// What a submission may have of processes, shared memory and sockets. Its supervisor counts them,
// and is asked before there is one more.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>

namespace prenorm::sandbox {

/// Limits processes and threads where RLIMIT_NPROC does not: that counts all of a user's, and
/// root's not at all. Asked before each new process or thread is made.
class TaskLimit {
 public:
  /// At most that many processes and threads of the group beside this one. Group 0: all that this
  /// process sees in its PID namespace.
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

/// Limits the memory that processes share without a file: it stays when none of them has its pages
/// any more, so that afterwards nobody can see how much there is. Asked before each such mmap().
class SharedLimit {
 public:
  /// At most that many bytes of all that the group's processes have shared since
  /// there was last none of it. 0: any number.
  SharedLimit(std::uint64_t most, pid_t group);

  /// Whether there may be a mapping of that many bytes, with these flags of mmap().
  bool admits(std::uint64_t bytes, std::uint64_t flags);
  /// The last one that was admitted was not made: the caller has been interrupted.
  void take_back();

 private:
  std::uint64_t most_, left_, last_ = 0;
  pid_t group_;
};

/// Limits sockets, whose buffers are memory of the kernel that no process has: they stay when their
/// sockets are on their way in others, or wait to be accepted. Asked before each socket() and
/// socketpair().
class SocketLimit {
 public:
  /// At most that many at a time, beside those that there are now. 0: any number.
  ///
  /// Counted are those of the network namespace. Where it is the machine's, sockets that others
  /// make from now on count, too, as long as they are there.
  explicit SocketLimit(std::size_t most);

  /// Whether there may be another pair; or one socket, and that by which it will be answered. Waits
  /// where the limit is reached by some that may not be made yet; a refusal that follows another
  /// costs a count only.
  bool admits();
  /// The last ones that were admitted were not made: the caller has been interrupted.
  void take_back();

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<std::size_t> count() const;

  std::size_t most_, left_;
  std::set<std::uint64_t> before_;  // by the kernel's numbers
  Clock::time_point last_admitted_{};
};

/// Whether a socket has that path, or nobody can say. One that was accepted shows the path of the
/// one that listened, which may be closed: connected ones do not count.
bool is_bound(const std::string& path);

}  // namespace prenorm::sandbox
