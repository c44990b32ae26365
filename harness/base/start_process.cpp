// Starting a child process: what happens between fork and exec.
#include "base/process.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <queue>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace prenorm::harness {
namespace {

constexpr int socket_in_child = 3;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // their shadow memory takes terabytes of address space
#else
constexpr bool sanitized = false;
#endif

void set_limit(decltype(RLIMIT_AS) which, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(which, &limit);
}

void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  rlimit limit{};  // a kernel before 5.9
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536;
  const int end = known ? static_cast<int>(limit.rlim_cur) : 65536;
  for (int fd = first; fd < end; ++fd) ::close(fd);
}

[[noreturn]] void give_up(int report) {
  const int reason = errno;
  [[maybe_unused]] const auto written = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

/// Executes the program. The parent may have threads, whose locks stay locked in this copy: only
/// functions that POSIX calls async-signal-safe (and similar Linux ones) may be called here.
[[noreturn]] void become(const ProcessStart& start) {
  // A session is a group, and the kernel shares the processors out by sessions: however many
  // processes the child starts, its parent has time to stop them.
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != start.parent) ::_exit(127);  // the parent died before the line above
  if (start.group >= 0 && ::write(start.group, "0", 1) != 1) give_up(start.report);

  // Signals that the parent ignores or blocks would stay so after exec.
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  // Where the machine hands crashed programs' memory to another program, as most do, that happens
  // with any limit but 1.
  set_limit(RLIMIT_CORE, 1);
  // What the user may have of a processor before others: the child has none.
  set_limit(RLIMIT_RTPRIO, 0);
  set_limit(RLIMIT_NICE, 0);
  if (start.limits.address_space > 0 && !sanitized) {
    set_limit(RLIMIT_AS, start.limits.address_space);
  }
  if (start.limits.cpu_seconds > 0) {
    set_limit(RLIMIT_CPU, static_cast<rlim_t>(std::ceil(start.limits.cpu_seconds)));
  }
  if (start.limits.file_size > 0) set_limit(RLIMIT_FSIZE, start.limits.file_size);

  // dup2 clears close-on-exec; all the sources lie at 10 and above.
  const bool placed = ::dup2(start.null, 0) >= 0 && ::dup2(start.output, 1) >= 0 &&
                      ::dup2(start.error, 2) >= 0 && ::dup2(start.socket, socket_in_child) >= 0;
  int report = start.report;
  if (placed && ::dup3(start.report, socket_in_child + 1, O_CLOEXEC) >= 0) {
    report = socket_in_child + 1;
    close_from(report + 1);
    ::execve(start.program, start.arguments, start.environment);
  }
  give_up(report);
}

pid_t fork_and_become(const ProcessStart& start) {
  // No handler of the parent may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) become(start);
  const int reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return child;
}

/// One thread that starts every child and lives as long as the program.
///
/// The kernel sends PR_SET_PDEATHSIG's signal when the *thread* that forked ends, and callers'
/// threads come and go.
class Starter {
 public:
  static Starter& instance() {
    static auto* const starter = new Starter;  // never destroyed, so its thread keeps running
    return *starter;
  }

  /// Returns the child's process id, or -1 and errno.
  pid_t start(const ProcessStart& what) {
    std::packaged_task<std::pair<pid_t, int>()> task([&what] {
      const pid_t child = fork_and_become(what);
      return std::pair{child, errno};
    });
    auto result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push(std::move(task));
    }
    waiting_.notify_one();
    const auto [child, reason] = result.get();
    errno = reason;
    return child;
  }

 private:
  Starter() {
    // Whatever a child leaves behind comes here, and not to somebody who does not expect it.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    // Children may fill what they may have in flight, which counts for the user: this process,
    // which sends them descriptors, may have more.
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
      descriptors.rlim_cur = descriptors.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &descriptors);
    }
    std::thread([this] { work(); }).detach();
  }

  [[noreturn]] void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      waiting_.wait(lock, [this] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable waiting_;
  std::queue<std::packaged_task<std::pair<pid_t, int>()>> tasks_;
};

}  // namespace

pid_t start_process(const ProcessStart& what) { return Starter::instance().start(what); }

}  // namespace prenorm::harness
