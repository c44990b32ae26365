// The requests that a seccomp filter makes to the supervisor.
#pragma once

#include "base/open_file.hpp"
#include "sandbox/shared_limit.hpp"
#include "sandbox/socket_limit.hpp"
#include "sandbox/task_limit.hpp"

#include <chrono>
#include <cstdint>
#include <seccomp.h>
#include <string>
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
  struct Limits {
    TaskLimit tasks;
    SharedLimit shared;
    SocketLimit sockets;
  };

  /// Throws std::system_error.
  Requests(int listener, const Scratch& scratch, const Limits& limits);

  /// Takes one request, which is there, and answers it, now or later.
  void take();
  /// Answers those whose time has come.
  void look_again();
  /// Until there are some; -1 where none waits.
  int milliseconds_left() const;

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

  void share();
  void make_socket();
  template <class Limit>
  void decide(bool may, int refusal, Limit& limit);
  void use_name();
  int read_name(Name& name) const;
  harness::OpenFile socket_of_caller() const;
  int connect_to(const std::string& path, int socket) const;
  int bind_to(const Name& name, int socket) const;
  bool answer(std::uint64_t id, int error, std::uint32_t flags = 0);

  int listener_;
  Scratch scratch_;
  Limits limits_;
  seccomp_notif* asked_ = nullptr;
  seccomp_notif_resp* reply_ = nullptr;
  std::vector<Refusal> refusals_;  // the first one first
};

}  // namespace prenorm::sandbox
