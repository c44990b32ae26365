// Files and folders: written for a person, written whole for another process, removed again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// Throws UsageError where write_text() could not write there.
void require_writable(const std::string& path);

/// Throws UsageError unless it is an empty folder, or none yet.
void require_empty_folder(const std::filesystem::path& folder);

/// Writes the text to the file, or to standard output where the path is "-". Throws UsageError.
void write_text(const std::string& path, const std::string& text);

/// The same for what no other user may read: the file has mode 0600 before anything is in it,
/// also where it was there already.
void write_private(const std::string& path, const std::string& text);

/// Makes the file where there is none, and gives it mode 0600; nothing for "-" and what is no plain
/// file (a pipe). Throws UsageError.
void make_private(const std::string& path);

/// Writes a file that is there as a whole or not at all. Throws std::runtime_error.
void write_whole(const std::filesystem::path& file, std::string_view text);
/// The whole file; nothing where there is none.
std::optional<std::string> read_whole(const std::filesystem::path& file);

/// Removes what is there, folders that even their owner may not change too, as builds leave them.
void remove_tree(const std::filesystem::path& path);

/// A folder that only this user can enter, gone with the object.
class TemporaryFolder {
 public:
  /// In $TMPDIR, or /tmp. Throws std::system_error.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace prenorm::harness
