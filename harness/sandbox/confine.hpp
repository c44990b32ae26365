// The steps of prenorm-confine, each in a source of its own: folders, Landlock, the supervisor. The
// filter of system calls: system_calls.hpp.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string>
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
/// Throws std::system_error, or std::filesystem::filesystem_error where a copy has no room.
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
