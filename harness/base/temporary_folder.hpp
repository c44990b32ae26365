// Folders for what nobody wants to keep.
#pragma once

#include "base/open_file.hpp"

#include <filesystem>
#include <string_view>

namespace prenorm::harness {

/// A folder that only this user can enter, removed with the object; a note on standard error says
/// where something of it stays. What killed programs have left in $TMPDIR is removed when a program
/// makes its first folder there.
class TemporaryFolder {
 public:
  /// Its name; each X stands for some letter.
  static constexpr std::string_view name_pattern = "prenorm-scratch-XXXXXX";

  /// In $TMPDIR, or /tmp. Throws std::system_error.
  TemporaryFolder();
  /// In that folder.
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  OpenFile lock_;  // tells others that somebody uses it
};

}  // namespace prenorm::harness
