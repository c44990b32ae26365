// What a watcher waits for: that somebody saves a file, and that a grading ends.
#pragma once

#include "base/open_file.hpp"
#include "base/temporary_folder.hpp"

#include <map>
#include <poll.h>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace prenorm::harness {

enum class Waited { ready, in_vain, interrupted };  // the last: by a signal

/// poll(): waits until one of these is ready, for that many milliseconds at most (-1: without end).
/// Throws std::system_error where it fails, which it would do again at once.
Waited wait_for(std::span<pollfd> these, int milliseconds);

/// Watches a file, or a folder and the folders in it, by inotify. Hidden files, caches, build
/// folders and the temporary files of editors do not count.
class FileChanges {
 public:
  /// Throws std::system_error if the path cannot be watched.
  explicit FileChanges(const fs::path& path);

  /// For poll(): readable when something may have happened.
  int descriptor() const { return queue_.get(); }
  /// The last file that was saved, removed or renamed since this was last called, relative to the
  /// path; empty if none was. Does not wait.
  fs::path take();

 private:
  void add(const fs::path& folder);

  fs::path root_, only_;  // the folder; the one file of it that counts, or empty
  OpenFile queue_;
  std::map<int, fs::path> folders_;  // by inotify's number
};

/// One `prenorm grade` in a process of its own, which can be given up when a file is saved again.
class GradingRun {
 public:
  /// Starts `prenorm grade ARGUMENTS --json FILE`. Throws std::system_error.
  explicit GradingRun(const std::vector<std::string>& arguments);
  ~GradingRun();                      // gives it up
  GradingRun(GradingRun&&) = delete;  // nor copied

  /// For poll(): readable when it has ended.
  int descriptor() const { return ended_.get(); }

  struct Answer {
    std::string report;     // JSON, or empty
    std::string complaint;  // what it said instead
  };
  /// Waits for its end.
  Answer finish();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  OpenFile ended_;
};

}  // namespace prenorm::harness
