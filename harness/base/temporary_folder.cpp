#include "base/temporary_folder.hpp"

#include "base/tree.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

OpenFile open_folder(const fs::path& path) {
  return OpenFile(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Whether the open folder is this user's, and still there by that name.
bool is_there(const OpenFile& folder, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(folder.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_uid == ::geteuid();
}

bool is_ours(const std::string& name) {
  constexpr std::string_view pattern = TemporaryFolder::name_pattern;
  return name.size() == pattern.size() && name.starts_with(pattern.substr(0, pattern.find('X')));
}

/// What was left by programs that were killed: their locks are gone with them.
void remove_left(const fs::path& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!is_ours(entry.path().filename())) continue;
    const OpenFile lock = open_folder(entry.path());
    const bool is_left = ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (is_left && is_there(lock, entry.path())) static_cast<void>(remove_tree(entry.path()));
  }
}

/// For the first folder that is made there.
void remove_left_once(const fs::path& parent) {
  static std::mutex one;
  static std::set<fs::path> done;
  const std::scoped_lock lock(one);
  if (done.insert(parent).second) remove_left(parent);
}

fs::path default_parent() {
  const char* named = std::getenv("TMPDIR");
  return named == nullptr ? "/tmp" : named;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : TemporaryFolder(default_parent()) {}

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
  remove_left_once(parent);
  bool is_taken = true;
  while (is_taken) {  // another program may take it for one that was left, until it is locked
    std::string name = parent / name_pattern;
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make a folder " + name);
    }
    path_ = fs::canonical(name);
    lock_ = open_folder(path_);
    // Where the file system has no locks, nobody takes it.
    const bool is_locked = ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    is_taken = !is_locked || !is_there(lock_, path_);
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (const auto why = remove_tree(path_)) {
    std::fprintf(stderr, "prenorm: %s cannot be removed: %s\n", path_.c_str(), why->c_str());
  }
}

}  // namespace prenorm::harness
