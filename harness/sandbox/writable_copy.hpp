// A copy of what somebody handed in, for the process that may write it. Only a header: programs
// that link no floor use it, too.
#pragma once

#include <filesystem>

namespace prenorm::sandbox {

/// Copies a folder's entries into another, for whose owner they can be written. Links stay links.
/// The folder is one that the grader has copied before: it is no deeper than that allows.
///
/// Throws std::filesystem::filesystem_error.
inline void copy_writable(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(from)) {
    const std::filesystem::path name = to / entry.path().filename();
    if (entry.is_symlink()) {
      std::filesystem::copy_symlink(entry.path(), name);
    } else if (entry.is_directory()) {
      std::filesystem::create_directory(name);
      copy_writable(entry.path(), name);
    } else {
      std::filesystem::copy_file(entry.path(), name);
      std::filesystem::permissions(
          name, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
          std::filesystem::perm_options::add);
    }
  }
}

}  // namespace prenorm::sandbox
