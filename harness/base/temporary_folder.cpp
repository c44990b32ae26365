#include "base/temporary_folder.hpp"

#include "base/digest.hpp"
#include "base/tree.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prenorm::harness {
namespace {

OpenFile open_folder(const fs::path& path) {
  return OpenFile(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Whether the open folder is this user's, and still there by that name.
bool is_own(const OpenFile& folder, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(folder.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev &&
         opened.st_uid == ::geteuid();
}

bool has_scratch_name(const std::string& name) {
  return name.size() == TemporaryFolder::prefix().size() + TemporaryFolder::random_letters &&
         name.starts_with(TemporaryFolder::prefix());
}

/// A lock ends with the program that has it.
void remove_unless_used(const fs::path& path) {
  const OpenFile folder = open_folder(path);
  const bool is_left = is_own(folder, path) && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
  if (is_left && is_own(folder, path)) static_cast<void>(remove_tree(path));
}

fs::path default_parent() {
  const char* named = std::getenv("TMPDIR");
  const fs::path parent = named == nullptr ? "/tmp" : named;
  static std::once_flag once;
  std::call_once(once, TemporaryFolder::remove_left, parent);
  return parent;
}

}  // namespace

const std::string& TemporaryFolder::prefix() {
  static const std::string text = [] {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return "prenorm-scratch-" + Digest().add(host.data()).hex().substr(0, 4) + "-";
  }();
  return text;
}

void TemporaryFolder::remove_left(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    if (has_scratch_name(entry->path().filename())) remove_unless_used(entry->path());
  }
}

TemporaryFolder::TemporaryFolder() : TemporaryFolder(default_parent()) {}

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
  const fs::path real_parent = fs::canonical(parent);
  bool is_lost = true;
  while (is_lost) {  // until it is locked, another program may remove it as abandoned
    std::string name = real_parent / (prefix() + std::string(random_letters, 'X'));
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make a folder " + name);
    }
    path_ = name;
    lock_ = open_folder(path_);
    is_lost = !lock_.is_open() && errno == ENOENT;
    if (is_lost) continue;
    if (!lock_.is_open()) {
      throw std::system_error(errno, std::generic_category(), "cannot open the folder " + name);
    }
    // Without file locks nothing is removed.
    const bool is_taken = ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    std::error_code ignored;
    is_lost = is_taken || !fs::exists(path_, ignored);
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (const auto why = remove_tree(path_)) {
    std::fprintf(stderr, "prenorm: %s cannot be removed: %s\n", path_.c_str(), why->c_str());
  }
}

}  // namespace prenorm::harness
