#include "base/tree.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace prenorm::harness {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// The entries of an open folder; none, and errno, where it cannot be read.
std::unique_ptr<DIR, int (*)(DIR*)> stream_of(int folder) {
  OpenFile own(::openat(folder, ".", folder_flags));  // the stream closes it
  DIR* const stream = own.is_open() ? ::fdopendir(own.get()) : nullptr;
  if (stream != nullptr) own.release();
  return {stream, ::closedir};
}

/// The names of at most `most` entries and of one more.
std::vector<std::string> names_in(int folder, std::size_t most) {
  const auto stream = stream_of(folder);
  if (!stream) throw std::system_error(errno, std::generic_category());
  std::vector<std::string> names;
  while (names.size() <= most) {
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

/// How long files are removed while somebody goes on making them.
constexpr std::chrono::minutes most_time{10};

bool is_mounted(int folder) {
  struct statx info {};
  return ::statx(folder, "", AT_EMPTY_PATH, 0, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// Removes a tree that somebody else has made.
///
/// A folder's subfolders are moved up to the top one under fresh names, until all of them lie there
/// side by side and each is empty in its turn. So the depth costs neither memory nor descriptors
/// nor long paths.
class Removal {
 public:
  /// Nothing of `path`, in the folder `parent`, is left, or why.
  std::optional<std::string> run(int parent, const std::string& path) {
    if (::unlinkat(parent, path.c_str(), 0) == 0 || errno == ENOENT) return std::nullopt;
    if (errno != EISDIR) return std::strerror(errno);
    top_ = open_folder(parent, path);
    if (!top_.is_open()) return std::strerror(errno);
    struct stat info {};
    if (::fstat(top_.get(), &info) == 0) device_ = info.st_dev;
    do {
      progress_ = false;
      reason_.reset();
      empty(top_.get());
    } while (progress_ && std::chrono::steady_clock::now() < end_);
    if (::unlinkat(parent, path.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return std::nullopt;
    return reason_ ? reason_ : std::strerror(errno);
  }

 private:
  void keep_reason(const std::string& name, const char* why) {
    if (!reason_) reason_ = printable(name, 200) + ": " + why;
  }

  /// Opens a folder and gives its owner the rights to read and change it, where possible.
  static OpenFile open_folder(int parent, const std::string& name) {
    OpenFile folder(::openat(parent, name.c_str(), folder_flags));
    if (!folder.is_open() && errno == EACCES &&
        ::fchmodat(parent, name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0) {
      folder = OpenFile(::openat(parent, name.c_str(), folder_flags));
    }
    struct stat info {};
    if (folder.is_open() && ::fstat(folder.get(), &info) == 0 &&
        (info.st_mode & S_IRWXU) != S_IRWXU) {
      (void)::fchmod(folder.get(), S_IRWXU);  // where it fails, so does what follows
    }
    return folder;
  }

  /// Removes what is in a folder, and of its subfolders those that are empty; moves the others to
  /// the top. What is in the top's own subfolders is removed there.
  void empty(int folder) {
    const auto stream = stream_of(folder);
    if (!stream) return keep_reason(".", std::strerror(errno));
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (::unlinkat(folder, name.c_str(), 0) == 0) {
        progress_ = true;
      } else if (errno != EISDIR) {
        keep_reason(name, std::strerror(errno));
      } else if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) {
        progress_ = true;
      } else if (folder == top_.get()) {
        flatten(name);
      } else {
        move_to_top(folder, name);
      }
    }
  }

  /// Of a folder in the top one: empties and removes it.
  void flatten(const std::string& name) {
    {
      const OpenFile folder = open_folder(top_.get(), name);
      if (!folder.is_open()) return keep_reason(name, std::strerror(errno));
      struct stat info {};
      if (::fstat(folder.get(), &info) != 0 || info.st_dev != device_ || is_mounted(folder.get())) {
        return keep_reason(name, "another file system is mounted there");
      }
      empty(folder.get());
    }
    // A folder that is open when it is removed costs ext4 milliseconds.
    if (::unlinkat(top_.get(), name.c_str(), AT_REMOVEDIR) == 0) {
      progress_ = true;
    } else {
      keep_reason(name, std::strerror(errno));
    }
  }

  void move_to_top(int from, const std::string& name) {
    bool opened = false;
    while (true) {
      const std::string fresh = "left-" + std::to_string(++fresh_);
      if (::renameat(from, name.c_str(), top_.get(), fresh.c_str()) == 0) {
        progress_ = true;
        return;
      }
      if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
        continue;  // that name is taken
      // A folder's own rights must allow it to change, too: what is above it does.
      if (errno != EACCES || opened) return keep_reason(name, std::strerror(errno));
      opened = open_folder(from, name).is_open();
      if (!opened) return keep_reason(name, std::strerror(errno));
    }
  }

  OpenFile top_;
  dev_t device_ = 0;
  std::size_t fresh_ = 0;
  bool progress_ = false;  // something was removed or moved since the last look at the top
  std::optional<std::string> reason_;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + most_time;
};

}  // namespace

TreeWalk::TreeWalk(const fs::path& top, const TreeLimits& limits) : top_(top), limits_(limits) {
  entry_.folder = AT_FDCWD;
  entry_.name = top.string();
  if (::fstatat(AT_FDCWD, entry_.name.c_str(), &entry_.info, AT_SYMLINK_NOFOLLOW) != 0) {
    throw std::system_error(errno, std::generic_category(), entry_.name);
  }
}

const TreeEntry* TreeWalk::next() {
  if (!std::exchange(begun_, true)) return &entry_;
  while (!levels_.empty() && levels_.back().names.empty()) leave();
  if (levels_.empty()) return nullptr;
  Level& level = levels_.back();
  entry_ = {inside_ / level.names.back(), folder_.get(), std::move(level.names.back()), {}, 0};
  level.names.pop_back();
  if (::fstatat(folder_.get(), entry_.name.c_str(), &entry_.info, AT_SYMLINK_NOFOLLOW) != 0) {
    entry_.error = errno;
  }
  return &entry_;
}

void TreeWalk::enter() {
  const auto fail = [this] {
    throw std::system_error(errno, std::generic_category(), entry_.path.string());
  };
  if (levels_.size() > limits_.depth) {
    throw TreeTooLarge("has folders nested deeper than " + std::to_string(limits_.depth));
  }
  OpenFile opened(::openat(entry_.folder, entry_.name.c_str(), folder_flags));
  if (!opened.is_open()) fail();
  struct stat info {};
  // "." is found only in a folder that may be searched.
  if (::fstatat(opened.get(), ".", &info, 0) != 0) fail();
  Level level{levels_.empty() ? "" : entry_.name, info.st_dev, info.st_ino,
              names_in(opened.get(), limits_.entries - std::min(limits_.entries, entries_))};
  entries_ += level.names.size();
  if (entries_ > limits_.entries) {
    throw TreeTooLarge("has more than " + std::to_string(limits_.entries) + " files");
  }
  std::ranges::sort(level.names, std::greater());
  if (levels_.empty()) top_folder_ = OpenFile(::openat(opened.get(), ".", folder_flags));
  levels_.push_back(std::move(level));
  folder_ = std::move(opened);
  inside_ = entry_.path;
}

bool TreeWalk::is_level(int folder, const Level& level) const {
  struct stat info {};
  return ::fstat(folder, &info) == 0 && info.st_dev == level.device && info.st_ino == level.inode;
}

void TreeWalk::leave() {
  levels_.pop_back();
  if (levels_.empty()) return;
  inside_ = inside_.parent_path();
  OpenFile above(::openat(folder_.get(), "..", folder_flags));
  if (above.is_open() && is_level(above.get(), levels_.back())) {
    folder_ = std::move(above);
    return;
  }
  // The folder was moved meanwhile: the way down from the top, as far as that is still there.
  folder_ = OpenFile(::openat(top_folder_.get(), ".", folder_flags));
  for (std::size_t depth = 1; depth < levels_.size(); ++depth) {
    OpenFile below(::openat(folder_.get(), levels_[depth].name.c_str(), folder_flags));
    if (!below.is_open() || !is_level(below.get(), levels_[depth])) {
      for (; levels_.size() > depth; levels_.pop_back()) inside_ = inside_.parent_path();
      return;
    }
    folder_ = std::move(below);
  }
}

TreeUsage usage_of(const fs::path& folder, const TreeLimits& limits) {
  TreeUsage usage;
  try {
    TreeWalk walk(folder, limits);
    while (const TreeEntry* entry = walk.next()) {
      if (entry->error != 0) continue;
      if (!entry->path.empty()) ++usage.entries;
      usage.bytes += static_cast<std::size_t>(entry->info.st_blocks) * bytes_of_block;
      if (usage.bytes > limits.bytes) {
        usage.exceeded = "has more than " + std::to_string(limits.bytes) + " bytes";
        return usage;
      }
      if (!entry->is_folder()) continue;
      try {
        walk.enter();
      } catch (const std::system_error& error) {
        if (error.code() != std::errc::permission_denied) continue;  // it has vanished
        usage.exceeded = "has a folder that cannot be read";
        return usage;
      }
    }
  } catch (const TreeTooLarge& error) {
    usage.exceeded = error.what();
  } catch (const std::system_error&) {  // the folder itself has vanished
  }
  return usage;
}

std::optional<std::string> remove_tree(const fs::path& path) {
  return Removal().run(AT_FDCWD, path.string());
}

}  // namespace prenorm::harness
