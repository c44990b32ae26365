// Notices when somebody saves a file of a submission.
#pragma once

#include "base/open_file.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace prenorm::harness {

/// Watches a file, or a folder and the folders in it, by inotify. Hidden files, caches, build
/// folders and the temporary files of editors do not count.
class FileChanges {
 public:
  /// Throws std::system_error if the path cannot be watched.
  explicit FileChanges(const std::filesystem::path& path);

  /// For poll(): readable when something may have happened.
  int descriptor() const { return queue_.get(); }
  /// The last file that was saved, removed or renamed since this was last called, relative to the
  /// path; empty if none was. Does not wait.
  std::filesystem::path take();

 private:
  void add(const std::filesystem::path& folder);

  std::filesystem::path root_, only_;  // the folder; the one file of it that counts, or empty
  OpenFile queue_;
  std::map<int, std::filesystem::path> folders_;  // by inotify's number
};

/// Whether a change of such a file or folder matters, by its name.
bool is_source_name(const std::string& name);

}  // namespace prenorm::harness
