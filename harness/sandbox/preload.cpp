// prenorm-preload.so, for a sandbox without a mount namespace: connect() where the supervisor
// connects, /tmp, and named semaphores and shared memory.
#include "sandbox/preload.hpp"

#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

// connect().

namespace {

using Clock = std::chrono::steady_clock;

/// How often a connection is tried again while the other end has no room: the supervisor never
/// waits.
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

// /tmp.
//
// The machine's /tmp is everybody's, and may not be written there. What fails with a path in /tmp
// is tried again with the same path in $TMPDIR. These are the functions that Python and C++ call
// for files; a program that makes system calls directly finds /tmp as it is.

namespace {

/// The path in $TMPDIR that stands for one in /tmp; empty for others.
std::string instead_of(const char* path) {
  const char* temporary = std::getenv("TMPDIR");
  const std::string_view name = path == nullptr ? "" : path;
  const bool in_tmp = name == "/tmp" || name.starts_with("/tmp/");
  return in_tmp && temporary != nullptr ? temporary + std::string(name.substr(4)) : "";
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// call(path), and where that fails call(path in $TMPDIR).
template <class Result, class Call>
Result try_both(const char* path, Result failed, const Call& call) {
  Result result = call(path);
  if (result != failed) return result;
  const int reason = errno;
  if (const std::string other = instead_of(path); !other.empty()) {
    result = call(other.c_str());
    if (result == failed && errno == ENOENT) errno = reason;
    return result;
  }
  errno = reason;
  return result;
}

mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

}  // namespace

// The C library declares the first arguments of some as never null.
#pragma GCC diagnostic ignored "-Wnonnull-compare"

#define OPEN(name)                                                                        \
  EXPORTED int name(const char* path, int flags, ...) {                                   \
    static auto* const real = next<int(const char*, int, mode_t)>(#name);                 \
    va_list more;                                                                         \
    va_start(more, flags);                                                                \
    const mode_t mode = mode_of(flags, more);                                             \
    va_end(more);                                                                         \
    return try_both(path, -1, [&](const char* file) { return real(file, flags, mode); }); \
  }
OPEN(open)
OPEN(open64)

#define OPEN_AT(name)                                                                             \
  EXPORTED int name(int folder, const char* path, int flags, ...) {                               \
    static auto* const real = next<int(int, const char*, int, mode_t)>(#name);                    \
    va_list more;                                                                                 \
    va_start(more, flags);                                                                        \
    const mode_t mode = mode_of(flags, more);                                                     \
    va_end(more);                                                                                 \
    return try_both(path, -1, [&](const char* file) { return real(folder, file, flags, mode); }); \
  }
OPEN_AT(openat)
OPEN_AT(openat64)

/// A function whose first argument is a path.
#define OF_PATH(result, failed, name, parameters, ...)                                        \
  EXPORTED result name parameters noexcept {                                                  \
    static auto* const real = next<result parameters>(#name);                                 \
    return try_both(path, static_cast<result>(failed),                                        \
                    [&](const char* file) { return real(file __VA_OPT__(, ) __VA_ARGS__); }); \
  }
OF_PATH(int, -1, stat, (const char* path, struct stat* info), info)
OF_PATH(int, -1, stat64, (const char* path, struct stat64* info), info)
OF_PATH(int, -1, lstat, (const char* path, struct stat* info), info)
OF_PATH(int, -1, lstat64, (const char* path, struct stat64* info), info)
OF_PATH(int, -1, access, (const char* path, int how), how)
OF_PATH(int, -1, mkdir, (const char* path, mode_t mode), mode)
OF_PATH(int, -1, rmdir, (const char* path))
OF_PATH(int, -1, unlink, (const char* path))
OF_PATH(int, -1, remove, (const char* path))
OF_PATH(int, -1, chdir, (const char* path))

/// The same for functions that may be cancelled.
#define OF_FILE(result, name, parameters, ...)                                                \
  EXPORTED result name parameters {                                                           \
    static auto* const real = next<result parameters>(#name);                                 \
    return try_both(path, static_cast<result>(nullptr),                                       \
                    [&](const char* file) { return real(file __VA_OPT__(, ) __VA_ARGS__); }); \
  }
OF_FILE(FILE*, fopen, (const char* path, const char* how), how)
OF_FILE(FILE*, fopen64, (const char* path, const char* how), how)
OF_FILE(DIR*, opendir, (const char* path))

/// A function whose second argument is a path, which counts from a folder.
#define OF_PATH_AT(name, parameters, ...)                                                         \
  EXPORTED int name parameters noexcept {                                                         \
    static auto* const real = next<int parameters>(#name);                                        \
    return try_both(path, -1, [&](const char* file) { return real(folder, file, __VA_ARGS__); }); \
  }
OF_PATH_AT(fstatat, (int folder, const char* path, struct stat* info, int flags), info, flags)
OF_PATH_AT(fstatat64, (int folder, const char* path, struct stat64* info, int flags), info, flags)
OF_PATH_AT(unlinkat, (int folder, const char* path, int flags), flags)
OF_PATH_AT(mkdirat, (int folder, const char* path, mode_t mode), mode)
OF_PATH_AT(faccessat, (int folder, const char* path, int how, int flags), how, flags)

EXPORTED int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return try_both(from, -1, [&](const char* old) {
    return try_both(to, -1, [&](const char* file) { return real(old, file); });
  });
}

/// A file without a name.
EXPORTED FILE* tmpfile() {
  const char* temporary = std::getenv("TMPDIR");
  const int file = ::open(temporary == nullptr ? "/tmp" : temporary,
                          O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  return file < 0 ? nullptr : ::fdopen(file, "w+");
}
EXPORTED FILE* tmpfile64() { return tmpfile(); }

// Named semaphores and shared memory, in $TMPDIR/.shm.
//
// The C library keeps them in /dev/shm, which all processes of the machine share. In a sandbox
// without a mount namespace nothing there may be written, so this library comes first there
// (LD_PRELOAD). Python's multiprocessing needs it.

namespace {

/// $TMPDIR/.shm/PREFIXname for "/name"; empty, and errno, for what is no name.
std::string path_of(const char* name, const char* prefix = "") {
  while (*name == '/') ++name;
  if (*name == '\0' || std::strchr(name, '/') != nullptr) {
    errno = EINVAL;
    return "";
  }
  const char* temporary = std::getenv("TMPDIR");
  const std::string folder = std::string(temporary == nullptr ? "/tmp" : temporary) + "/.shm";
  ::mkdir(folder.c_str(), 0700);
  return folder + "/" + prefix + name;
}

int unlink_named(const std::string& path) { return path.empty() ? -1 : ::unlink(path.c_str()); }

sem_t* map_semaphore(int file) {
  void* memory = ::mmap(nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? SEM_FAILED : static_cast<sem_t*>(memory);
}

sem_t* open_semaphore(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return SEM_FAILED;
  sem_t* semaphore = map_semaphore(file);
  ::close(file);
  return semaphore;
}

/// Appears under its name with its value in it, or not at all.
sem_t* create_semaphore(const std::string& path, mode_t mode, unsigned value) {
  std::string part = path + ".XXXXXX";
  const int file = ::mkostemp(part.data(), O_CLOEXEC);
  if (file < 0) return SEM_FAILED;
  ::fchmod(file, mode);
  sem_t* semaphore = SEM_FAILED;
  if (::ftruncate(file, sizeof(sem_t)) == 0) semaphore = map_semaphore(file);
  if (semaphore != SEM_FAILED &&
      (::sem_init(semaphore, 1, value) != 0 || ::link(part.c_str(), path.c_str()) != 0)) {
    const int reason = errno;
    ::munmap(semaphore, sizeof(sem_t));
    semaphore = SEM_FAILED;
    errno = reason;
  }
  const int reason = errno;
  ::unlink(part.c_str());
  ::close(file);
  errno = reason;
  return semaphore;
}

/// Reports no room in /dev/shm, so that programs which look for a folder in memory take another.
template <class Info>
int without_room(const char* name, const char* path, Info* info) {
  using Function = int(const char*, Info*);
  static auto* const next = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  const int result = next(path, info);
  if (result == 0 && std::strcmp(path, "/dev/shm") == 0) info->f_bavail = info->f_bfree = 0;
  return result;
}

}  // namespace

EXPORTED int shm_open(const char* name, int flags, mode_t mode) {
  const std::string path = path_of(name);
  return path.empty() ? -1 : ::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

EXPORTED int shm_unlink(const char* name) { return unlink_named(path_of(name)); }

EXPORTED sem_t* sem_open(const char* name, int flags, ...) {
  const std::string path = path_of(name, "sem.");
  if (path.empty()) return SEM_FAILED;
  if ((flags & O_CREAT) == 0) return open_semaphore(path);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  const unsigned value = va_arg(more, unsigned);
  va_end(more);
  sem_t* semaphore = create_semaphore(path, mode, value);
  const bool exists = semaphore == SEM_FAILED && errno == EEXIST;
  return exists && (flags & O_EXCL) == 0 ? open_semaphore(path) : semaphore;
}

EXPORTED int sem_unlink(const char* name) { return unlink_named(path_of(name, "sem.")); }

EXPORTED int sem_close(sem_t* semaphore) { return ::munmap(semaphore, sizeof(sem_t)); }

EXPORTED int statvfs(const char* path, struct statvfs* info) {
  return without_room("statvfs", path, info);
}

EXPORTED int statvfs64(const char* path, struct statvfs64* info) {
  return without_room("statvfs64", path, info);
}
