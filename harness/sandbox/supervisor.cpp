#include "sandbox/supervisor.hpp"

#include "base/socket_message.hpp"
#include "sandbox/check.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/requests.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace prenorm::sandbox {
namespace {

using harness::SocketMessage;

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
    if ((watched[1].revents & POLLHUP) != 0) watched[1].fd = -1;  // nobody has the filter any more
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
    // Whoever has lost its parent ends with the grader, too: nobody can leave the group.
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
