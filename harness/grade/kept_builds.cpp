#include "grade/kept_builds.hpp"

#include "base/digest.hpp"
#include "base/files.hpp"
#include "grade/snapshot.hpp"

#include <algorithm>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_kept = 16;

/// $XDG_CACHE_HOME/prenorm/builds, made if it is missing; empty unless it is this user's alone.
fs::path folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (cache != nullptr && fs::path(cache).is_absolute()) {
    base = cache;
  } else if (home != nullptr && fs::path(home).is_absolute()) {
    base = fs::path(home) / ".cache";
  }
  if (base.empty()) return {};
  const fs::path place = base / "prenorm" / "builds";
  std::error_code error;
  if (fs::create_directories(place, error)) {
    fs::permissions(place, fs::perms::owner_all, error);
  }
  struct stat info {};
  const bool own = ::lstat(place.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                   info.st_uid == ::geteuid() && (info.st_mode & 077u) == 0;
  return own ? place : fs::path();
}

/// A program that may have been replaced by another version.
void add_program(Digest& digest, const char* name) {
  std::error_code error;
  const fs::path program = fs::canonical(name, error);
  struct stat info {};
  if (error || ::stat(program.c_str(), &info) != 0) return;
  digest.add(program.string()).add(std::to_string(info.st_size));
  digest.add(std::to_string(info.st_mtime));
}

}  // namespace

std::string build_key(const fs::path& submission, const fs::path& scratch,
                      std::span<const fs::path> folders, const std::string& script) {
  Digest digest;
  // Messages name sources by where they lay when they were built, which told() knows here alone.
  digest.add(submission.filename().string()).add(scratch.string());
  digest.add(digest_snapshot(submission)).add(script);
  for (const fs::path& each : folders) digest.add(digest_snapshot(each));
  for (const char* program : {"/usr/bin/c++", "/usr/bin/cc", "/usr/bin/ld", "/usr/bin/cmake",
                              "/usr/local/cuda/bin/nvcc", "/usr/lib/x86_64-linux-gnu/libc.so.6"}) {
    add_program(digest, program);
  }
  return digest.hex();
}

fs::path kept_build(const std::string& key) {
  const fs::path place = folder();
  std::error_code error;
  const fs::path library = place / (key + ".so");
  return !place.empty() && fs::is_regular_file(fs::symlink_status(library, error)) ? library
                                                                                   : fs::path();
}

void keep_build(const std::string& key, const std::string& library) {
  const fs::path place = folder();
  if (place.empty()) return;
  try {
    write_whole(place / (key + ".so"), library);
    std::vector<std::pair<fs::file_time_type, fs::path>> kept;
    for (const auto& entry : fs::directory_iterator(place)) {
      std::error_code gone;  // another process may clean up at the same time
      kept.emplace_back(entry.last_write_time(gone), entry.path());
    }
    std::ranges::sort(kept, std::greater());
    for (std::size_t i = most_kept; i < kept.size(); ++i) {
      std::error_code gone;
      fs::remove(kept[i].second, gone);
    }
  } catch (const std::exception&) {
    // A full disk, say.
  }
}

}  // namespace prenorm::harness
