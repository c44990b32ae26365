// Landlock: a process may use only the files that are named, and reach no other process.
#pragma once

#include <vector>

namespace prenorm::sandbox::landlock {

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

}  // namespace prenorm::sandbox::landlock
