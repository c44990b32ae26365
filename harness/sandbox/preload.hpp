// For the libraries that are preloaded.
#pragma once

#include <cerrno>
#include <csignal>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace prenorm::sandbox {

/// What the call returns, and its errno. A signal with a handler would interrupt the wait for the
/// supervisor's answer, and the call would fail with EINTR, which few programs expect: signals wait
/// until it is done. The C library does so itself where it makes threads, and in posix_spawn().
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

}  // namespace prenorm::sandbox
