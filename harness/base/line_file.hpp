// A file of lines that are there as soon as they are written: what is cut off leaves the others.
#pragma once

#include "base/error.hpp"

#include <fstream>
#include <mutex>
#include <string>

namespace prenorm::harness {

class LineFile {
 public:
  /// No file for an empty path. Throws UsageError for "-", or if it cannot be opened.
  LineFile(const std::string& option, const std::string& path) {
    if (path.empty()) return;
    if (path == "-") throw UsageError(option + " needs a file, not standard output");
    file_.open(path, std::ios::binary | std::ios::trunc);
    if (!file_) throw UsageError("cannot write " + path);
  }

  /// Whether there is a file: a line need not be made without one.
  bool is_open() const { return file_.is_open(); }

  /// May be called by several threads.
  void write(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    file_ << line << '\n' << std::flush;
  }

 private:
  std::mutex mutex_;
  std::ofstream file_;
};

}  // namespace prenorm::harness
