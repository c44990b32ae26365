#include "base/open_file.hpp"
#include "sandbox/confine.hpp"
#include "sandbox/writable_copy.hpp"

#include <fcntl.h>
#include <memory>
#include <mntent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

namespace prenorm::sandbox {
namespace {

/// What lies at a path now, by a name that stays when something is mounted above it.
struct HeldFile {
  explicit HeldFile(const char* at) : path(at), file(::open(at, O_PATH | O_CLOEXEC)) {
    check(file.is_open(), at);
  }
  std::string name() const { return "/proc/self/fd/" + std::to_string(file.get()); }

  const char* path;
  harness::OpenFile file;
};

/// Of what is mounted, nothing may be changed, even where the grader is root and the submission so
/// owns it: the rights and times of a device or of a file in /proc are the whole machine's. Devices
/// may be written nevertheless.
void make_read_only() {
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "r"),
                                                     ::endmntent);
  check(mounts != nullptr, "/proc/self/mounts");
  while (const mntent* each = ::getmntent(mounts.get())) {
    const std::string what = std::string("cannot protect ") + each->mnt_dir;
    struct statvfs info {};
    check(::statvfs(each->mnt_dir, &info) == 0, what);
    // These may not be taken away; statvfs() has the same bits for them.
    const unsigned long kept = info.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC);
    check(::mount(nullptr, each->mnt_dir, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kept,
                  nullptr) == 0,
          what);
  }
}

void mount_empty(const SizedFolder& folder) {
  const std::string options =
      "mode=0700,size=" + folder.bytes + ",nr_inodes=" + std::to_string(most_entries);
  check(::mount("tmpfs", folder.path, "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0,
        std::string("cannot mount ") + folder.path);
}

void mount_again(const HeldFile& held) {
  const fs::path path = held.path;
  fs::create_directories(path.parent_path());
  if (fs::is_directory(held.name())) {
    fs::create_directory(path);
  } else {
    const harness::OpenFile file(::open(held.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
    check(file.is_open(), held.path);
  }
  check(::mount(held.name().c_str(), held.path, nullptr, MS_BIND | MS_REC, nullptr) == 0,
        std::string("cannot mount ") + held.path);
}

}  // namespace

void mount_folders(const Folders& folders) {
  if (folders.empty.empty() && folders.copied.empty()) return;
  // First: what is held must be of the namespace in which it is mounted again.
  check(::unshare(CLONE_NEWNS) == 0, "no mount namespace");
  make_read_only();
  std::vector<HeldFile> kept, originals;
  for (const char* path : folders.kept) kept.emplace_back(path);
  for (const SizedFolder& folder : folders.copied) originals.emplace_back(folder.path);
  for (const SizedFolder& folder : folders.empty) mount_empty(folder);
  for (const HeldFile& held : kept) mount_again(held);
  for (std::size_t i = 0; i < folders.copied.size(); ++i) {
    mount_empty(folders.copied[i]);
    copy_writable(originals[i].name(), folders.copied[i].path);
  }
}

}  // namespace prenorm::sandbox
