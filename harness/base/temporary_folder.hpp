// Temporary folders.
#pragma once

#include "base/open_file.hpp"
#include "base/paths.hpp"

#include <string>

namespace prenorm::harness {

/// A folder that only this user can enter, removed with the object; a note on standard error says
/// where something of it stays. The first one that a program makes in $TMPDIR removes what killed
/// programs have left there.
class TemporaryFolder {
 public:
  /// How the names begin on this machine: several may share a file system, and not its locks.
  static const std::string& prefix();
  /// Letters that follow.
  static constexpr std::size_t random_letters = 6;

  /// In $TMPDIR, or /tmp. Throws std::system_error.
  TemporaryFolder();
  /// In that folder.
  explicit TemporaryFolder(const fs::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&&) = delete;  // nor copied

  const fs::path& path() const { return path_; }

  /// Removes those in a folder that nobody uses any more. What cannot be removed stays.
  static void remove_left(const fs::path& parent);

 private:
  fs::path path_;
  OpenFile lock_;  // tells others that somebody uses it
};

}  // namespace prenorm::harness
