// Removing a tree that somebody else has made.
//
// A folder's subfolders are moved up to the top one under fresh names, until all of them lie there
// side by side and each is empty in its turn. So the depth costs neither memory nor descriptors nor
// long paths.
#include "base/printable.hpp"
#include "base/tree.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// Who goes on making files is not waited for.
constexpr std::chrono::minutes most_time{10};

bool is_mounted(int folder) {
  struct statx info {};
  return ::statx(folder, "", AT_EMPTY_PATH, 0, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

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

  /// A folder that may be read and changed from now on, where that can be had.
  static OpenFile open_folder(int parent, const std::string& name) {
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    OpenFile folder(::openat(parent, name.c_str(), flags));
    if (!folder.is_open() && errno == EACCES &&
        ::fchmodat(parent, name.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0) {
      folder = OpenFile(::openat(parent, name.c_str(), flags));
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
    const int number = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(number < 0 ? nullptr : ::fdopendir(number),
                                                     ::closedir);
    if (!stream) {
      keep_reason(".", std::strerror(errno));
      if (number >= 0) ::close(number);
      return;
    }
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

std::optional<std::string> remove_tree(const fs::path& path) {
  return Removal().run(AT_FDCWD, path.string());
}

}  // namespace prenorm::harness
