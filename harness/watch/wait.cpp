#include "watch/wait.hpp"

#include "base/files.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

constexpr int patience = 3000;  // milliseconds for a run that is given up to end by itself

/// errno is taken first: making a text may change it.
[[noreturn]] void fail(const char* what, const fs::path& path = {}) {
  const int error = errno;
  throw std::system_error(error, std::generic_category(), what + path.string());
}

constexpr std::uint32_t events =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

/// Whether a change of such a file or folder matters, by its name.
bool is_source_name(const std::string& name) {
  if (name.empty() || name.front() == '.' || name.front() == '#') return false;
  if (name.ends_with('~') || name.ends_with(".swp") || name.ends_with(".swx")) return false;
  if (name == "4913") return false;  // Vim tries with it whether it can write here
  return name != "__pycache__" && name != "build" && !name.starts_with("cmake-build");
}

}  // namespace

Waited wait_for(std::span<pollfd> these, int milliseconds) {
  const int ready = ::poll(these.data(), these.size(), milliseconds);
  if (ready < 0 && errno != EINTR) fail("cannot wait for changes");
  return ready > 0 ? Waited::ready : ready == 0 ? Waited::in_vain : Waited::interrupted;
}

FileChanges::FileChanges(const fs::path& path) : queue_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (queue_.get() < 0) fail("cannot watch ", path);
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
    fail("cannot watch ", folder);
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

GradingRun::GradingRun(const std::vector<std::string>& arguments) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::string report = (folder_.path() / "report.json").string();
  const std::string errors = (folder_.path() / "errors.txt").string();
  std::vector<std::string> words{program.string(), "grade"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--json", report});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  // A group of its own: Ctrl-C ends the watcher, which then ends this.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      ::posix_spawn(&pid_, program.c_str(), &files, &attributes, pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  errno = error;
  if (error != 0) fail("", program);
  ended_ = OpenFile(::syscall(SYS_pidfd_open, pid_, 0));
  if (!ended_.is_open()) fail("pidfd_open");
}

GradingRun::~GradingRun() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGTERM);
  pollfd end{ended_.get(), POLLIN, 0};
  if (::poll(&end, 1, patience) != 1) ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

GradingRun::Answer GradingRun::finish() {
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  Answer answer;
  answer.report = read_whole(folder_.path() / "report.json").value_or("");
  if (answer.report.empty()) {
    answer.complaint = read_whole(folder_.path() / "errors.txt").value_or("");
    if (answer.complaint.empty()) answer.complaint = "the grader ended without a report";
  }
  return answer;
}

}  // namespace prenorm::harness
