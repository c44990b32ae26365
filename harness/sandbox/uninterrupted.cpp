// prenorm-uninterrupted.so: fork() and connect() where the supervisor is asked.
//
// A signal with a handler interrupts whoever waits for the supervisor's answer, and the call would
// fail with EINTR, which few programs expect: signals wait until it is done. The C library does so
// itself where it makes threads, and in posix_spawn().
#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

/// What the call returns, and its errno.
template <class Call>
auto uninterrupted(Call call) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto result = call();
  const int reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return result;
}

}  // namespace

EXPORTED pid_t fork() noexcept {
  static auto* const real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
  return uninterrupted([] { return real(); });
}

/// A function cannot come between vfork() and its caller: the child has memory of its own then.
EXPORTED pid_t vfork() noexcept { return fork(); }

EXPORTED int connect(int socket, const sockaddr* address, socklen_t bytes) {
  using Connect = int (*)(int, const sockaddr*, socklen_t);
  static auto* const real = reinterpret_cast<Connect>(::dlsym(RTLD_NEXT, "connect"));
  return uninterrupted([&] { return real(socket, address, bytes); });
}
