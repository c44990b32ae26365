#include "base/tree.hpp"

#include <algorithm>
#include <cerrno>
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

namespace fs = std::filesystem;

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t bytes_of_block = 512;  // of st_blocks, whatever the file system has

/// The names of at most `most` entries and of one more.
std::vector<std::string> names_in(int folder, std::size_t most) {
  // A descriptor of its own, as the stream closes it.
  const int number = ::openat(folder, ".", folder_flags);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(number < 0 ? nullptr : ::fdopendir(number),
                                                   ::closedir);
  if (!stream) {
    const int reason = errno;
    if (number >= 0) ::close(number);
    throw std::system_error(reason, std::generic_category());
  }
  std::vector<std::string> names;
  while (names.size() <= most) {
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

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

}  // namespace prenorm::harness
