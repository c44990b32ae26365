// What somebody handed in, by its files.
#include "base/open_file.hpp"
#include "base/tree.hpp"
#include "grade/snapshot.hpp"
#include "grade/submission.hpp"

#include <algorithm>
#include <fcntl.h>
#include <functional>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// Whether a regular file's first MiB has the word. It may be another file by now, or a pipe that
/// never answers.
bool mentions_prenorm(const TreeEntry& entry) {
  const OpenFile file(
      ::openat(entry.folder, entry.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::string text(1u << 20, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text.find("prenorm") != text.npos;
}

/// Whether a file below the folder is wanted. Not in environments, where others' files lie, nor in
/// what cannot be read.
bool any_file(const fs::path& folder, const std::function<bool(const TreeEntry&)>& wanted) {
  TreeWalk walk(folder, snapshot_limits);
  while (const TreeEntry* entry = walk.next()) {
    const bool skipped = entry->is_folder() && !entry->path.empty() && is_no_work(*entry);
    if (skipped) continue;
    if (wanted(*entry)) return true;
    try {
      if (entry->is_folder()) walk.enter();
    } catch (const std::system_error&) {
      if (entry->path.empty()) throw;
    }
  }
  return false;
}

bool has_adapters(const fs::path& folder) {
  return any_file(folder,
                  [](const TreeEntry& entry) { return entry.path.filename() == "adapters.py"; });
}

/// As a CMake project does that makes a solution.
bool looks_for_prenorm(const fs::path& folder) {
  return any_file(folder, [](const TreeEntry& entry) {
    return entry.path.filename() == "CMakeLists.txt" && entry.error == 0 &&
           S_ISREG(entry.info.st_mode) && mentions_prenorm(entry);
  });
}

}  // namespace

bool is_cuda(const fs::path& path) { return path.extension() == ".cu"; }
bool has_cuda_sources(const fs::path& folder) {
  return any_file(folder, [](const TreeEntry& entry) { return is_cuda(entry.path); });
}

bool is_library(const fs::path& path) { return path.extension() == ".so"; }
bool is_outputs(const fs::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

std::vector<fs::path> files_of(const fs::path& folder, bool (*wanted)(const fs::path&)) {
  std::vector<fs::path> files;
  TreeWalk walk(folder, snapshot_limits);
  while (const TreeEntry* entry = walk.next()) {
    if (entry->path.empty()) {
      walk.enter();
    } else if (entry->error == 0 && S_ISREG(entry->info.st_mode) && wanted(entry->path)) {
      files.push_back(folder / entry->path);
    }
  }
  return files;
}

std::string_view name(SubmissionKind kind) {
  switch (kind) {
    case SubmissionKind::cmake: return "CMake project";
    case SubmissionKind::cuda: return "CUDA source";
    case SubmissionKind::library: return "library";
    case SubmissionKind::python: return "Python";
    case SubmissionKind::outputs: return "outputs";
  }
  return "?";
}

SubmissionKind submission_kind(const fs::path& path) {
  if (!fs::is_directory(fs::symlink_status(path))) {
    if (is_library(path)) return SubmissionKind::library;
    if (is_cuda(path)) return SubmissionKind::cuda;
    if (path.extension() == ".py") return SubmissionKind::python;
    if (is_outputs(path)) return SubmissionKind::outputs;
    throw std::invalid_argument(path.string() +
                                ": wanted a folder, a library (.so), a Python file (.py), a "
                                "CUDA source (.cu) or outputs (.h5)");
  }
  try {
    // Python packages have a CMakeLists.txt for extensions of theirs.
    const bool has_lists = fs::exists(path / "CMakeLists.txt");
    if (has_lists && looks_for_prenorm(path)) return SubmissionKind::cmake;
    if (has_adapters(path)) return SubmissionKind::python;
    if (has_lists) return SubmissionKind::cmake;
    if (files_of(path, is_library).size() == 1) return SubmissionKind::library;
    if (!files_of(path, is_outputs).empty()) return SubmissionKind::outputs;
    if (!files_of(path, is_cuda).empty()) return SubmissionKind::cuda;
  } catch (const TreeTooLarge& error) {
    throw std::invalid_argument(path.string() + ": " + error.what());
  }
  throw std::invalid_argument(
      path.string() +
      ": nothing in it that can be graded: no CMakeLists.txt, no "
      "adapters.py, no CUDA source (.cu) at its top, no library (one .so), no "
      "outputs (.h5)");
}

}  // namespace prenorm::harness
