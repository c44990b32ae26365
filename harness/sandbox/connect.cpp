// prenorm-preload.so: connect() where the supervisor connects.
#include "sandbox/preload.hpp"

#include <chrono>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace {

using Clock = std::chrono::steady_clock;

/// How often a connection is tried that finds no room: the supervisor waits for nobody.
constexpr timespec between_tries{0, 5'000'000};

bool blocks(int socket) { return (::fcntl(socket, F_GETFL) & O_NONBLOCK) == 0; }

/// When the socket's own limit is over.
Clock::time_point end_of_waiting(int socket) {
  timeval limit{};
  socklen_t size = sizeof limit;
  const bool is_known = ::getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) == 0;
  constexpr time_t day = 86'400;
  const bool is_limited = limit.tv_sec > 0 || limit.tv_usec > 0;
  if (!is_known || !is_limited || limit.tv_sec > day) return Clock::time_point::max();
  return Clock::now() + std::chrono::seconds(limit.tv_sec) +
         std::chrono::microseconds(limit.tv_usec);
}

}  // namespace

EXPORTED int connect(int socket, const sockaddr* address, socklen_t bytes) {
  using Connect = int (*)(int, const sockaddr*, socklen_t);
  static auto* const real = reinterpret_cast<Connect>(::dlsym(RTLD_NEXT, "connect"));
  const Clock::time_point end = end_of_waiting(socket);
  while (true) {
    const int result =
        prenorm::sandbox::uninterrupted([&] { return real(socket, address, bytes); });
    if (result == 0 || errno != EAGAIN || !blocks(socket) || Clock::now() >= end) return result;
    if (::nanosleep(&between_tries, nullptr) != 0) return -1;  // a signal
  }
}
