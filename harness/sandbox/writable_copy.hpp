// A copy of what somebody handed in, for the process that may write it. Only a header: programs
// that link no floor use it, too.
#pragma once

#include "base/paths.hpp"

namespace prenorm::sandbox {

/// Copies a folder's entries into another, for whose owner they can be written. Links stay links.
/// The folder is one that the grader has copied before: it is no deeper than that allows.
///
/// Throws fs::filesystem_error.
inline void copy_writable(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path name = to / entry.path().filename();
    if (entry.is_symlink()) {
      fs::copy_symlink(entry.path(), name);
    } else if (entry.is_directory()) {
      fs::create_directory(name);
      copy_writable(entry.path(), name);
    } else {
      fs::copy_file(entry.path(), name);
      fs::permissions(name, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::add);
    }
  }
}

}  // namespace prenorm::sandbox
