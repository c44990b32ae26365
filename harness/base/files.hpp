// Files: writing for a user, atomically for another process, line by line, as a zip archive.
#pragma once

#include "base/text.hpp"
#include "base/paths.hpp"

#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

/// Throws UsageError if write_text() could not write there.
void require_writable(const std::string& path);

/// Throws UsageError unless it is an empty folder or does not exist.
void require_empty_folder(const fs::path& folder);

/// Writes the text to the file, or to standard output if the path is "-". Throws UsageError.
void write_text(const std::string& path, const std::string& text);

/// The same for text that no other user may read: the file has mode 0600 before it is written,
/// even if it existed before.
void write_private(const std::string& path, const std::string& text);

/// Creates the file if there is none, and sets its mode to 0600. Does nothing for "-" or if it is
/// no regular file (a pipe). Throws UsageError.
void make_private(const std::string& path);

/// Writes a file atomically: completely or not at all. Throws std::runtime_error.
void write_whole(const fs::path& file, std::string_view text);
/// The whole file, or the first `most` bytes: a device never ends. Nothing if there is none, or a
/// folder.
std::optional<std::string> read_whole(const fs::path& file, std::size_t most = std::string::npos);

/// A file of lines, each there as soon as it is written: what cuts the program off leaves the
/// others.
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

struct ZipEntry {
  std::string name;  // "harness/CMakeLists.txt": below the archive's root
  fs::path from;     // the file that it is a copy of
  bool executable = false;
  std::optional<std::string> bytes = std::nullopt;  // instead of a file's; stored, not compressed
};

/// Writes a zip archive: the same bytes for the same files, in the order of the entries, each dated
/// 1 January 1980. Throws std::runtime_error that names the file that cannot be read or written.
void write_zip(const fs::path& archive, const std::vector<ZipEntry>& entries);

}  // namespace prenorm::harness
