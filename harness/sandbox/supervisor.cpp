#include "sandbox/supervisor.hpp"

#include "base/open_file.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/task_limit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::sandbox {
namespace {

using harness::OpenFile;
using harness::SocketMessage;

constexpr unsigned thread_too = 0x80;  // PIDFD_THREAD: pidfd_open() takes a thread's number

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

/// As a shell says how a process ended.
[[noreturn]] void end_as(int status) {
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/// The folder in which the child's sockets may have names.
struct Scratch {
  std::string path;  // with a slash at its end
  int folder;
};

/// What connect() was asked: the address is copied, so that nobody can change it afterwards.
struct Request {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

/// 0, or why not.
int read_request(const seccomp_notif& asked, Request& request) {
  const std::uint64_t bytes = asked.data.args[2];
  if (bytes <= offsetof(sockaddr_un, sun_path) || bytes > sizeof request.address) return EINVAL;
  iovec here{&request.address, bytes};
  iovec there{reinterpret_cast<void*>(asked.data.args[1]), bytes};
  const ssize_t got = ::process_vm_readv(static_cast<pid_t>(asked.pid), &here, 1, &there, 1, 0);
  if (got != static_cast<ssize_t>(bytes)) return EFAULT;
  request.bytes = static_cast<socklen_t>(bytes);
  return request.address.sun_family == AF_UNIX ? 0 : EACCES;
}

/// Landlock lets this process connect to abstract sockets of its own domain only, which are those
/// of its children. It does not ask about others: these must lie in the scratch folder. 0, or why
/// not.
int connect_to(const Request& request, int socket, const Scratch& scratch) {
  const auto connect = [socket](const sockaddr_un& address, socklen_t bytes) {
    const auto* general = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(socket, general, bytes) == 0 ? 0 : errno;
  };
  if (request.address.sun_path[0] == '\0') return connect(request.address, request.bytes);
  const std::size_t most = request.bytes - offsetof(sockaddr_un, sun_path);
  const std::string path(request.address.sun_path, ::strnlen(request.address.sun_path, most));
  if (!path.starts_with(scratch.path)) return EACCES;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const OpenFile file(
      ::syscall(SYS_openat2, scratch.folder, path.c_str() + scratch.path.size(), &how, sizeof how));
  if (file.get() < 0) return errno;
  sockaddr_un opened{};
  opened.sun_family = AF_UNIX;
  std::snprintf(opened.sun_path, sizeof opened.sun_path, "/proc/self/fd/%d", file.get());
  return connect(opened, sizeof opened);
}

/// Connects the child's socket, through a duplicate of its descriptor. 0, or why not.
int connect_for(const seccomp_notif& asked, int listener, const Scratch& scratch) {
  Request request;
  if (const int reason = read_request(asked, request)) return reason;
  const OpenFile process(::syscall(SYS_pidfd_open, static_cast<pid_t>(asked.pid), thread_too));
  if (process.get() < 0) return errno;
  // The number may be another thread's by now.
  if (::seccomp_notify_id_valid(listener, asked.id) != 0) return EBADF;
  const OpenFile socket(
      ::syscall(SYS_pidfd_getfd, process.get(), static_cast<int>(asked.data.args[0]), 0));
  return socket.get() < 0 ? EBADF : connect_to(request, socket.get(), scratch);
}

/// What the calls need that this process is asked about.
struct Service {
  int listener;
  Scratch scratch;
  TaskLimit tasks;
  seccomp_notif* asked = nullptr;
  seccomp_notif_resp* reply = nullptr;
};

void answer(Service& service) {
  seccomp_notif& asked = *service.asked;
  seccomp_notif_resp& reply = *service.reply;
  asked = {};
  if (::seccomp_notify_receive(service.listener, &asked) != 0) return;  // whoever asked has ended
  reply = {};
  reply.id = asked.id;
  if (asked.data.nr == SYS_connect) {
    reply.error = -connect_for(asked, service.listener, service.scratch);
  } else if (service.tasks.admits()) {  // of calls that make a process or a thread
    reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    reply.error = -EAGAIN;
  }
  ::seccomp_notify_respond(service.listener, &reply);
}

/// Until the child ends.
[[noreturn]] void supervise(pid_t child, int signals, Service& service) {
  std::array<pollfd, 2> watched{{{signals, POLLIN, 0}, {service.listener, POLLIN, 0}}};
  while (true) {
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if ((watched[1].revents & POLLIN) != 0) answer(service);
    if ((watched[1].revents & POLLHUP) != 0) watched[1].fd = -1;  // nobody has the filter any more
    if ((watched[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo info;
    [[maybe_unused]] const auto got = ::read(signals, &info, sizeof info);
    int status = 0;
    for (pid_t ended; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == child) end_as(status);
    }
  }
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
  if (options.alone) {
    // Whoever has lost its parent ends with the grader, too: nobody can leave the group.
    std::signal(SIGTERM, [](int) { ::kill(0, SIGKILL); });
    check(::getpgrp() != self || ::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0, "no end");
  }
  const int signals = ::signalfd(-1, &child_ended, SFD_CLOEXEC);
  // The channel to the grader, and what it prints, are the child's alone.
  const unsigned kept = static_cast<unsigned>(std::min(signals, ends[0]));
  ::close_range(0, kept - 1, 0);
  ::close(ends[1]);
  char byte = 0;
  SocketMessage message(&byte, 1);
  if (message.receive(ends[0]) != 1 || message.descriptor() < 0) ::_exit(126);
  const char* temporary = std::getenv("TMPDIR");
  Scratch scratch{temporary == nullptr ? "/" : std::string(temporary) + "/", -1};
  if (temporary != nullptr) scratch.folder = ::open(temporary, O_PATH | O_DIRECTORY | O_CLOEXEC);
  Service service{message.descriptor(), scratch,
                  TaskLimit(options.tasks, options.alone ? ::getpgrp() : 0)};
  if (::seccomp_notify_alloc(&service.asked, &service.reply) != 0) ::_exit(126);
  try {
    load_filter(rules_of_supervisor());
  } catch (const std::exception&) {
    ::_exit(126);
  }
  [[maybe_unused]] const auto ready = ::write(ends[0], "", 1);
  ::close(ends[0]);
  supervise(child, signals, service);
}

void Supervised::serve(int listener) const {
  char byte = 0;
  check(SocketMessage(&byte, 1).send(socket_, listener, MSG_NOSIGNAL) == 1, "message");
  ::close(listener);
  check(::read(socket_, &byte, 1) == 1, "no supervisor");
  ::close(socket_);
}

}  // namespace prenorm::sandbox
