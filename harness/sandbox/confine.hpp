// The steps of prenorm-confine, each in a source of its own: folders, Landlock, limits, the
// supervisor. The filter of system calls: system_calls.hpp.
#pragma once

#include "base/paths.hpp"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <system_error>
#include <vector>

namespace prenorm::sandbox {

/// Throws std::system_error, by errno, unless it is good.
inline void check(bool good, const std::string& what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

// Folders (folders.cpp), of a sandbox that has a mount namespace: in memory, of limited size.

/// A folder and how many bytes it may hold.
struct SizedFolder {
  const char* path;
  std::string bytes;
};

struct Folders {
  std::vector<SizedFolder> empty;   // where an empty one is mounted
  std::vector<const char*> kept;    // files and folders inside those, which are mounted there again
  std::vector<SizedFolder> copied;  // where a copy of the folder is mounted
};

/// Files and folders that each may hold: their names take memory of the kernel.
inline constexpr std::size_t most_entries = 32768;

/// Mounts them all, in a new mount namespace. Needs the capability for that.
///
/// Throws std::system_error, or fs::filesystem_error where a copy has no room.
void mount_folders(const Folders& folders);

/// Landlock: a process may use only the files that are named, and reach no other process.
namespace landlock {

/// What a ruleset of files allows. Folders stand for everything below them.
struct Files {
  std::vector<const char*> read, write, device;
};

/// The version of the kernel's Landlock; 0: none.
long version();

/// Whether this kernel's Landlock keeps signals and abstract sockets inside (Linux 6.12).
bool keeps_inside();

/// From now on this process and its children use no other files, and no TCP; where keeps_inside(),
/// they neither signal nor connect to a process outside. What it restricts already, it keeps.
///
/// Throws std::system_error.
void restrict_files(const Files& files);

/// The same without files, but for sockets that have a path: these may be made in the named
/// folders.
void restrict_neighbours(const std::vector<const char*>& for_sockets);

}  // namespace landlock

// Limits (limits.cpp) of what a submission may have of processes, shared memory and sockets. Its
// supervisor counts them, and is asked before there is one more.

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

// The supervisor of a submission (supervisor.cpp). It reaps orphans, exits with the submission's
// status, and answers what the seccomp filter asks: whether there may be one more process, thread
// or socket, or more memory that they share; and, where there is no network namespace, for a
// connection between the submission's processes.

/// From now on, and until it executes a program, nobody inside may open this process's memory.
///
/// Throws std::system_error.
void hide_memory();

/// Goes on in a child, while this process becomes the supervisor: the parent of all that loses its
/// own. It answers the child's filter (serve()) until the child ends, and then ends as that did.
class Supervised {
 public:
  struct Options {
    /// There is no PID namespace: the child is killed when this process ends, and this process,
    /// with all that runs in its group, when its own parent does.
    bool alone;
    std::size_t tasks;    // processes and threads that it lets there be, if the filter asks
    std::size_t shared;   // bytes that it lets them share without a file; 0: any number
    std::size_t sockets;  // that it lets there be; 0: any number
  };

  /// Returns in the child alone. Throws std::system_error.
  explicit Supervised(const Options& options);

  /// Hands over the descriptor of the child's filter, and closes it; -1: the filter asks nothing.
  /// Returns when the supervisor is confined itself. Throws std::system_error.
  void serve(int listener) const;

 private:
  int socket_ = -1;
};

}  // namespace prenorm::sandbox
