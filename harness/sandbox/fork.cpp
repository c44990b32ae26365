// prenorm-fork.so: fork() where the supervisor is asked first.
//
// A signal with a handler interrupts whoever waits for the supervisor's answer, and fork() would
// fail with EINTR, which no program expects: signals wait until it is done. The C library does so
// itself where it makes threads, and in posix_spawn().
#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <unistd.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED pid_t fork() noexcept {
  static auto* const real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = real();
  const int reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return child;
}

/// A function cannot come between vfork() and its caller: the child has memory of its own then.
EXPORTED pid_t vfork() noexcept { return fork(); }
