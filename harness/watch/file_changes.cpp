#include "watch/file_changes.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/inotify.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t events =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

[[noreturn]] void fail(const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), "cannot watch " + path.string());
}

}  // namespace

bool is_source_name(const std::string& name) {
  if (name.empty() || name.front() == '.' || name.front() == '#') return false;
  if (name.ends_with('~') || name.ends_with(".swp") || name.ends_with(".swx")) return false;
  if (name == "4913") return false;  // Vim tries with it whether it can write here
  return name != "__pycache__" && name != "build" && !name.starts_with("cmake-build");
}

FileChanges::FileChanges(const fs::path& path) : queue_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (queue_.get() < 0) fail(path);
  root_ = fs::absolute(path).lexically_normal();
  // An editor may write a new file and rename it, so a file is watched by its folder.
  if (!fs::is_directory(root_)) {
    only_ = root_.filename();
    root_ = root_.parent_path();
  }
  add(root_);
}

void FileChanges::add(const fs::path& folder) {
  const int number = ::inotify_add_watch(queue_.get(), folder.c_str(), events);
  if (number < 0) {
    if (folder != root_ && (errno == ENOENT || errno == ENOTDIR)) return;  // it is gone again
    fail(folder);
  }
  folders_[number] = folder;
  if (!only_.empty()) return;
  std::error_code ignored;
  for (fs::directory_iterator each(folder, ignored), end; each != end; each.increment(ignored)) {
    if (each->is_directory(ignored) && !each->is_symlink(ignored) &&
        is_source_name(each->path().filename().string())) {
      add(each->path());
    }
  }
}

fs::path FileChanges::take() {
  fs::path last;
  alignas(inotify_event) std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t got = ::read(queue_.get(), buffer.data(), buffer.size());
    if (got <= 0) return last;
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string name = event.len > 0 ? buffer.data() + at + sizeof event : "";
      at += static_cast<ssize_t>(sizeof event + event.len);
      const auto folder = folders_.find(event.wd);
      if (folder == folders_.end()) continue;
      if ((event.mask & IN_IGNORED) != 0) {
        folders_.erase(folder);
        continue;
      }
      if (!is_source_name(name) || (!only_.empty() && name != only_)) continue;
      const fs::path path = folder->second / name;
      if ((event.mask & IN_ISDIR) != 0) {
        if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) add(path);
      } else if ((event.mask & IN_CREATE) != 0) {
        continue;  // it is written after this
      }
      last = path.lexically_relative(root_);
    }
  }
}

}  // namespace prenorm::harness
