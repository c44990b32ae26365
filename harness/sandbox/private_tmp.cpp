// prenorm-preload.so, too: /tmp in a sandbox without a mount namespace.
//
// The machine's /tmp is everybody's, and may not be written there. What fails with a path in /tmp
// is tried again with the same path in $TMPDIR. These are the functions that Python and C++ call
// for files; whoever makes system calls directly finds /tmp as it is.
#include "sandbox/preload.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

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
