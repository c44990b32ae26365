#include "base/open_file.hpp"
#include "base/socket_message.hpp"
#include "sandbox/confine.hpp"
#include "sandbox/system_calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/openat2.h>
#include <poll.h>
#include <seccomp.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace prenorm::sandbox {
namespace {

using harness::OpenFile;
using harness::SocketMessage;

constexpr unsigned thread_too = 0x80;  // PIDFD_THREAD: pidfd_open() takes a thread's number
/// Long enough for the grader to see that the limit is reached, and to report it.
constexpr std::chrono::milliseconds before_refusal{300};

/// The path must be short enough.
sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// The file that an abstract name stands for.
std::string stand_in(std::string_view name) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), ".socket-%016zx", std::hash<std::string_view>()(name));
  return text.data();
}

int bind_once(int socket, const std::string& path) {
  const sockaddr_un name = address_of(path);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ? 0 : errno;
}

/// The folder from which a process's relative paths count; empty where it has ended.
std::string working_folder(pid_t process) {
  const std::string link = "/proc/" + std::to_string(process) + "/cwd";
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(AT_FDCWD, link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

/// 0, or why not: EAGAIN where the other end has no room. The caller's own socket may block, which
/// this process may not.
int connect_at_once(int socket, const std::string& path) {
  const sockaddr_un name = address_of(path);
  const int flags = ::fcntl(socket, F_GETFL);
  const bool blocks = (flags & O_NONBLOCK) == 0;
  if (blocks) ::fcntl(socket, F_SETFL, flags | O_NONBLOCK);
  const bool done = ::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  const int reason = errno;
  if (blocks) ::fcntl(socket, F_SETFL, flags);
  return done ? 0 : reason;
}

/// The folder in which the child's sockets may have names.
struct Scratch {
  std::string path;  // with a slash at its end
  int folder;        // open
};

/// Answers without ever waiting for one of those who ask: a server that shall accept a connection
/// may be asking for a thread.
class Requests {
 public:
  struct Limits {
    TaskLimit tasks;
    SharedLimit shared;
    SocketLimit sockets;
  };

  /// Throws std::system_error.
  Requests(int listener, const Scratch& scratch, const Limits& limits)
      : listener_(listener), scratch_(scratch), limits_(limits) {
    const int failed = ::seccomp_notify_alloc(&asked_, &reply_);
    if (failed != 0) throw std::system_error(-failed, std::generic_category(), "no notifications");
  }

  /// Takes one request, which is there, and answers it, now or later.
  void take() {
    *asked_ = {};
    if (::seccomp_notify_receive(listener_, asked_) != 0) return;  // the caller has ended
    const seccomp_data& call = asked_->data;
    if (call.nr == SYS_connect || call.nr == SYS_bind) {
      use_name();
    } else if (call.nr == SYS_mmap) {
      decide(limits_.shared.admits(call.args[1], call.args[3]), ENOMEM, limits_.shared);
    } else if (call.nr == SYS_socket || call.nr == SYS_socketpair) {
      decide(limits_.sockets.admits(), ENOBUFS, limits_.sockets);
    } else if (limits_.tasks.admits()) {  // all others make a process or a thread
      answer(asked_->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    } else {
      refusals_.push_back({asked_->id, Clock::now() + before_refusal});
    }
  }

  /// Answers those whose time has come.
  void look_again() {
    std::erase_if(refusals_, [this](const Refusal& each) {
      if (Clock::now() < each.when) return false;
      answer(each.id, EAGAIN);
      return true;
    });
  }

  /// Until there are some; -1 where none waits.
  int milliseconds_left() const {
    if (refusals_.empty()) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(refusals_.front().when - Clock::now());
    return static_cast<int>(std::max<long long>(0, left.count()));
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Name {
    std::string path;
    bool is_abstract = false;  // then the path is of a file that stands for it
  };

  struct Refusal {
    std::uint64_t id;
    Clock::time_point when;
  };

  /// Lets the call go on, or fail.
  template <class Limit>
  void decide(bool may, int refusal, Limit& limit) {
    const bool is_heard =
        may ? answer(asked_->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE) : answer(asked_->id, refusal);
    if (may && !is_heard) limit.take_back();
  }

  /// Where the other end has no room, the answer is EAGAIN, and the caller (preload.cpp) tries
  /// again.
  void use_name() {
    Name name;
    int result = read_name(name);
    if (result == 0) {
      const OpenFile socket = socket_of_caller();
      const bool connects = asked_->data.nr == SYS_connect;
      result = !socket.is_open() ? EBADF
               : connects        ? connect_to(name.path, socket.get())
                                 : bind_to(name, socket.get());
    }
    answer(asked_->id, result);
  }

  /// Copies the address, so that nobody can change it afterwards. 0 and its path, or why not.
  int read_name(Name& name) const {
    const std::uint64_t bytes = asked_->data.args[2];
    sockaddr_un address{};
    if (bytes <= offsetof(sockaddr_un, sun_path) || bytes > sizeof address) return EINVAL;
    iovec here{&address, bytes};
    iovec there{reinterpret_cast<void*>(asked_->data.args[1]), bytes};
    const auto caller = static_cast<pid_t>(asked_->pid);
    if (::process_vm_readv(caller, &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes)) {
      return EFAULT;
    }
    if (address.sun_family != AF_UNIX) return EACCES;
    const std::size_t most = bytes - offsetof(sockaddr_un, sun_path);
    std::string& path = name.path;
    name.is_abstract = address.sun_path[0] == '\0';
    path = name.is_abstract ? scratch_.path + stand_in({&address.sun_path[1], most - 1})
                            : std::string(address.sun_path, ::strnlen(address.sun_path, most));
    if (!path.starts_with('/')) path = working_folder(caller) + "/" + path;
    if (path.size() >= sizeof address.sun_path) return EINVAL;
    return path.starts_with(scratch_.path) ? 0 : EACCES;
  }

  /// A duplicate of the descriptor that is to be connected.
  OpenFile socket_of_caller() const {
    const OpenFile process(::syscall(SYS_pidfd_open, static_cast<pid_t>(asked_->pid), thread_too));
    // The number may be another thread's by now.
    if (!process.is_open() || ::seccomp_notify_id_valid(listener_, asked_->id) != 0) {
      return OpenFile();
    }
    return OpenFile(
        ::syscall(SYS_pidfd_getfd, process.get(), static_cast<int>(asked_->data.args[0]), 0));
  }

  /// Landlock does not ask about sockets with a path: these must lie in the scratch folder. 0, or
  /// why not.
  int connect_to(const std::string& path, int socket) const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const char* inside = path.c_str() + scratch_.path.size();
    const OpenFile file(::syscall(SYS_openat2, scratch_.folder, inside, &how, sizeof how));
    if (!file.is_open()) return errno;
    return connect_at_once(socket, "/proc/self/fd/" + std::to_string(file.get()));
  }

  /// Landlock lets this process make sockets only where the child may write.
  int bind_to(const Name& name, int socket) const {
    const int result = bind_once(socket, name.path);
    // An abstract name is free again when its socket is closed, but its file is still there.
    if (result != EADDRINUSE || !name.is_abstract || is_bound(name.path)) return result;
    ::unlinkat(scratch_.folder, name.path.c_str() + scratch_.path.size(), 0);
    return bind_once(socket, name.path);
  }

  /// Whether the caller was still there.
  bool answer(std::uint64_t id, int error, std::uint32_t flags = 0) {
    *reply_ = {};
    reply_->id = id;
    reply_->error = -error;
    reply_->flags = flags;
    return ::seccomp_notify_respond(listener_, reply_) == 0;
  }

  int listener_;
  Scratch scratch_;
  Limits limits_;
  seccomp_notif* asked_ = nullptr;
  seccomp_notif_resp* reply_ = nullptr;
  std::vector<Refusal> refusals_;  // the first one first
};

/// As a shell says how a process ended.
[[noreturn]] void end_as(int status) {
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/// Reaps all that has ended, and ends with the child.
void reap(pid_t child) {
  int status = 0;
  for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == child) end_as(status);
  }
}

/// Until the child ends.
[[noreturn]] void supervise(pid_t child, int signals, int listener, Requests& requests) {
  std::array<pollfd, 2> watched{{{signals, POLLIN, 0}, {listener, POLLIN, 0}}};
  while (true) {
    if (::poll(watched.data(), watched.size(), requests.milliseconds_left()) < 0) continue;
    if ((watched[0].revents & POLLIN) != 0) {
      signalfd_siginfo info;
      [[maybe_unused]] const auto got = ::read(signals, &info, sizeof info);
      reap(child);
    }
    if ((watched[1].revents & POLLIN) != 0) requests.take();
    if ((watched[1].revents & POLLHUP) != 0)
      watched[1].fd = -1;  // no process has the filter any more
    requests.look_again();
  }
}

Scratch open_scratch() {
  const char* path = std::getenv("TMPDIR");
  if (path == nullptr) return {"/", -1};
  return {std::string(path) + "/", ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
}

}  // namespace

void hide_memory() { check(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "not dumpable"); }

Supervised::Supervised(const Options& options) {
  check(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "no parent of orphans");
  sigset_t child_ended, before;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ended, &before);
  std::array<int, 2> ends;
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "socket");
  const pid_t self = ::getpid(), child = ::fork();
  check(child >= 0, "fork");
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (options.alone) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != self) ::_exit(126);
    }
    ::close(ends[0]);
    socket_ = ends[1];
    return;
  }
  if (options.alone && ::getpgrp() == self) {
    // Orphans end with the grader, too: no process can leave the group.
    std::signal(SIGTERM, [](int) { ::kill(0, SIGKILL); });
    check(::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0, "no end");
  }
  const int signals = ::signalfd(-1, &child_ended, SFD_CLOEXEC);
  // The channel to the grader, and what it prints, are the child's alone.
  const unsigned kept = static_cast<unsigned>(std::min(signals, ends[0]));
  ::close_range(0, kept - 1, 0);
  ::close(ends[1]);
  char byte = 0;
  SocketMessage message(&byte, 1);
  if (message.receive(ends[0]) != 1) ::_exit(126);
  try {
    const int listener = message.descriptor();
    const pid_t group = options.alone ? ::getpgrp() : 0;
    Requests requests(listener, open_scratch(),
                      {TaskLimit(options.tasks, group), SharedLimit(options.shared, group),
                       SocketLimit(options.sockets)});
    load_filter(rules_of_supervisor());
    [[maybe_unused]] const auto ready = ::write(ends[0], "", 1);
    ::close(ends[0]);
    supervise(child, signals, listener, requests);
  } catch (const std::exception&) {
    ::_exit(126);
  }
}

void Supervised::serve(int listener) const {
  char byte = 0;
  check(SocketMessage(&byte, 1).send(socket_, listener, MSG_NOSIGNAL) == 1, "message");
  if (listener >= 0) ::close(listener);
  if (::read(socket_, &byte, 1) != 1) throw std::runtime_error("the supervisor has ended");
  ::close(socket_);
}

}  // namespace prenorm::sandbox
