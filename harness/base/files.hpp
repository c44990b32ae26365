// Files and folders: writing for a user, writing atomically for another process, temporary folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// Throws UsageError if write_text() could not write there.
void require_writable(const std::string& path);

/// Throws UsageError unless it is an empty folder or does not exist.
void require_empty_folder(const std::filesystem::path& folder);

/// Writes the text to the file, or to standard output if the path is "-". Throws UsageError.
void write_text(const std::string& path, const std::string& text);

/// The same for text that no other user may read: the file has mode 0600 before it is written,
/// even if it existed before.
void write_private(const std::string& path, const std::string& text);

/// Creates the file if there is none, and sets its mode to 0600. Does nothing for "-" or if it is
/// no regular file (a pipe). Throws UsageError.
void make_private(const std::string& path);

/// Writes a file atomically: completely or not at all. Throws std::runtime_error.
void write_whole(const std::filesystem::path& file, std::string_view text);
/// The whole file; nothing if there is none, or a folder.
std::optional<std::string> read_whole(const std::filesystem::path& file);

}  // namespace prenorm::harness
