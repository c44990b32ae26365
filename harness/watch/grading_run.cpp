#include "watch/grading_run.hpp"

#include "base/files.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr int patience = 3000;  // milliseconds for a run that is given up to end by itself

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

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
  if (error != 0) fail(error, program.string());
  ended_ = OpenFile(::syscall(SYS_pidfd_open, pid_, 0));
  if (!ended_.is_open()) fail(errno, "pidfd_open");
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
