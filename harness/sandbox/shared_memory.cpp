// prenorm-preload.so: the C library's named semaphores and shared memory, in $TMPDIR/.shm.
//
// The C library keeps them in /dev/shm, which all processes of the machine share. In a sandbox
// without a mount namespace nothing there may be written, so this library comes first there
// (LD_PRELOAD). Python's multiprocessing needs it.
#include "sandbox/preload.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

/// Whoever looks for a place in memory takes another folder where this one has no room.
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
