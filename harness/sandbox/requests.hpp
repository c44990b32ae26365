// The requests that a seccomp filter makes to the supervisor.
#pragma once

#include "base/open_file.hpp"
#include "sandbox/task_limit.hpp"

#include <chrono>
#include <cstdint>
#include <seccomp.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

namespace prenorm::sandbox {

/// The folder in which the child's sockets may have names.
struct Scratch {
  std::string path;  // with a slash at its end
  int folder;        // open
};

/// Answers without ever waiting for one of those who ask: a server that shall accept a connection
/// may be asking for a thread.
class Requests {
 public:
  /// `shared`: bytes of memory that may be shared without a file in all; 0: any number. Throws
  /// std::system_error.
  Requests(int listener, const Scratch& scratch, const TaskLimit& tasks, std::size_t shared);

  /// Takes one request, which is there, and answers it, now or later.
  void take();
  /// Answers those whose time has come.
  void look_again();
  /// Until there are some; -1 where none waits.
  int milliseconds_left() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Address {
    sockaddr_un name{};
    socklen_t bytes = 0;
  };
  /// A connection for which there is no room yet, or, without a socket, a refusal.
  struct Waiting {
    std::uint64_t id;
    Clock::time_point next;
    harness::OpenFile socket;
    Address address;
    Clock::time_point end = Clock::time_point::max();  // for the socket's own limit
  };

  bool may_share(std::uint64_t bytes);
  void connect();
  int read_address(Address& address) const;
  harness::OpenFile socket_of_caller() const;
  int connect_to(const Address& address, int socket) const;
  void answer(std::uint64_t id, int error, std::uint32_t flags = 0);

  int listener_;
  Scratch scratch_;
  TaskLimit tasks_;
  std::uint64_t shared_left_;
  seccomp_notif* asked_ = nullptr;
  seccomp_notif_resp* reply_ = nullptr;
  std::vector<Waiting> waiting_;
};

}  // namespace prenorm::sandbox
