// Files: writing for a user, atomically for another process, line by line, as a zip archive.
#pragma once

#include "base/open_file.hpp"
#include "base/text.hpp"
#include "base/paths.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace prenorm::harness {

/// A file that gets its name when all of it is written: until commit() has, what was there stays as
/// it was. A pipe or a device is written to directly, and so are a file whose folder takes no new
/// one and an open descriptor (/dev/stdout); a file that is a mount point is written at commit().
class NewFile {
 public:
  /// `is_private`: no other user may read it (mode 0600); else it has the mode of the file that it
  /// replaces. Throws UsageError, as the others do.
  explicit NewFile(const fs::path& path, bool is_private = false);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  /// Where it is until commit(): for a library that opens its files itself.
  const fs::path& place() const { return part_.empty() ? path_ : part_; }
  /// `is_durable`: it is on the disk before it has its name.
  void commit(bool is_durable = false);

 private:
  [[noreturn]] void fail() const;
  void copy_over();

  fs::path path_, part_;  // no part where it is written directly
  OpenFile file_;
};

/// Throws UsageError if write_text() could not write there.
void require_writable(const std::string& path);

/// Throws UsageError unless it is an empty folder or does not exist.
void require_empty_folder(const fs::path& folder);

/// Writes the text to the file, or to standard output if the path is "-": completely or not at all.
/// Throws UsageError.
void write_text(const std::string& path, const std::string& text);

/// The same for text that no other user may read: the file has mode 0600, even if it existed
/// before.
void write_private(const std::string& path, const std::string& text);

/// The same for other processes, which may read it at any time. Throws std::runtime_error.
void write_whole(const fs::path& file, std::string_view text);
/// The whole file, or the first `most` bytes: a device never ends. Nothing if there is none, or a
/// folder.
std::optional<std::string> read_whole(const fs::path& file, std::size_t most = std::string::npos);

/// Throws UsageError for "-", or if the option's LineFile could not be opened. What stands in that
/// file stays until there are lines.
void require_lines(const std::string& option, const std::string& path);

/// A file of lines, each there as soon as it is written: what cuts the program off leaves the
/// others.
class LineFile {
 public:
  /// No file for an empty path. Throws UsageError if it cannot be opened.
  explicit LineFile(const std::string& path);

  /// Whether there is a file: a line need not be made without one.
  bool is_open() const { return file_.is_open(); }

  /// May be called by several threads. A line that cannot be written is not there, nor are later
  /// ones.
  void write(const std::string& line);

  /// Throws UsageError unless all lines are there.
  void require_all() const;

 private:
  std::mutex mutex_;
  std::string path_;
  OpenFile file_;
  bool is_own_ = false;  // a regular file that was not open already
  off_t size_ = 0;
  std::size_t lines_ = 0;
  int error_ = 0;  // why a line could not be written
};

struct ZipEntry {
  std::string name;  // "harness/CMakeLists.txt": below the archive's root
  fs::path from;     // the file that it is a copy of
  bool executable = false;
  std::optional<std::string> bytes = std::nullopt;  // instead of a file's; stored, not compressed
};

/// Writes a zip archive, completely or not at all: the same bytes for the same files, in the order
/// of the entries, each dated 1 January 1980. Throws UsageError, or std::runtime_error that names
/// the file that cannot be read or written.
void write_zip(const fs::path& archive, const std::vector<ZipEntry>& entries,
               bool is_private = false);

}  // namespace prenorm::harness
