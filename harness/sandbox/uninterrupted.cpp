// prenorm-uninterrupted.so: fork(), mmap() of memory that is shared without a file, new sockets and
// their names.
#include "sandbox/preload.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

using prenorm::sandbox::uninterrupted;

EXPORTED pid_t fork() noexcept {
  static auto* const real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
  return uninterrupted([] { return real(); });
}

/// A function cannot come between vfork() and its caller: the child has memory of its own then.
EXPORTED pid_t vfork() noexcept { return fork(); }

/// Without dlsym(), which may allocate memory, and an allocator may call this.
EXPORTED void* mmap(void* at, size_t bytes, int rights, int flags, int file, off_t from) noexcept {
  const auto call = [=] {
    return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, rights, flags, file, from));
  };
  const bool is_asked = (flags & MAP_SHARED) != 0 && (flags & MAP_ANONYMOUS) != 0;
  return is_asked ? uninterrupted(call) : call();
}

EXPORTED void* mmap64(void* at, size_t bytes, int rights, int flags, int file,
                      off64_t from) noexcept {
  return mmap(at, bytes, rights, flags, file, from);
}

EXPORTED int socket(int family, int kind, int protocol) noexcept {
  return uninterrupted(
      [=] { return static_cast<int>(::syscall(SYS_socket, family, kind, protocol)); });
}

EXPORTED int socketpair(int family, int kind, int protocol, int* ends) noexcept {
  return uninterrupted(
      [=] { return static_cast<int>(::syscall(SYS_socketpair, family, kind, protocol, ends)); });
}

EXPORTED int bind(int file, const sockaddr* name, socklen_t bytes) noexcept {
  return uninterrupted([=] { return static_cast<int>(::syscall(SYS_bind, file, name, bytes)); });
}
