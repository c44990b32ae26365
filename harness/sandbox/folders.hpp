// The folders of a sandbox that has a mount namespace: in memory, of limited size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prenorm::sandbox {

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

}  // namespace prenorm::sandbox
