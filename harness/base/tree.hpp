// Trees of files that strangers have made: walked, measured and removed by descriptors, without
// recursion and without following a link, however deep or wide they are.
#pragma once

#include "base/open_file.hpp"
#include "base/paths.hpp"

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace prenorm::harness {

/// Of st_blocks, whatever the file system has.
inline constexpr std::size_t bytes_of_block = 512;

struct TreeLimits {
  std::size_t entries, bytes, depth;
};

/// A tree has more entries or deeper folders than the limits allow.
struct TreeTooLarge : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct TreeEntry {
  fs::path path;     // from the top; of the top itself empty
  int folder = -1;   // the open folder that it is in,
  std::string name;  // and its name there, for openat() and the like
  struct stat info {};
  int error = 0;  // why there is no `info`; 0: there is

  bool is_folder() const { return error == 0 && S_ISDIR(info.st_mode); }
};

/// Goes through a tree, sorted by name within a folder, a folder before what is in it. Folders are
/// entered on demand:
///
///     TreeWalk walk(top, limits);
///     while (const TreeEntry* entry = walk.next()) {
///       if (entry->is_folder()) walk.enter();
///     }
///
/// Five descriptors are open at most, and the names of at most `limits.entries` entries are kept.
/// Others may change the tree meanwhile: what has vanished is left out.
class TreeWalk {
 public:
  /// Throws std::system_error where there is nothing at `top`.
  TreeWalk(const fs::path& top, const TreeLimits& limits);

  /// First the top itself. Valid until the next call of a function; nullptr at the end.
  const TreeEntry* next();

  /// Enters the folder that next() returned. Throws TreeTooLarge, and std::system_error where the
  /// folder cannot be read: next() goes on behind it then.
  void enter();

 private:
  struct Level {
    std::string name;  // of the folder; of the top empty
    dev_t device;
    ino_t inode;
    std::vector<std::string> names;  // of what is in it, in reverse order
  };

  void leave();
  bool is_level(int folder, const Level& level) const;

  fs::path top_;
  TreeLimits limits_;
  std::size_t entries_ = 1;
  OpenFile top_folder_, folder_;  // folder_: of the last level
  fs::path inside_;               // the path of folder_
  std::vector<Level> levels_;
  TreeEntry entry_;
  bool begun_ = false;
};

struct TreeUsage {
  std::size_t entries = 0;
  std::size_t bytes = 0;                // that its files occupy; a hole occupies none
  std::optional<std::string> exceeded;  // the limit, in words
};

/// Counts what is in a folder, which others may be changing, until a limit is exceeded. A folder
/// that cannot be read exceeds the limits. Files that were removed and are still open are not
/// seen.
TreeUsage usage_of(const fs::path& folder, const TreeLimits& limits);

/// Removes a file or a tree, including folders that their owner may not change. Returns the reason
/// where something of it stays. What is mounted in it is left alone.
[[nodiscard]] std::optional<std::string> remove_tree(const fs::path& path);

}  // namespace prenorm::harness
