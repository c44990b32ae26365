// A zip archive: the same bytes for the same files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

struct ZipEntry {
  std::string name;            // "harness/CMakeLists.txt": below the archive's root
  std::filesystem::path from;  // the file that it is a copy of
  bool executable = false;
  std::optional<std::string> bytes = std::nullopt;  // instead of a file's; stored, not compressed
};

/// Writes the archive in the order of the entries, each dated 1 January 1980. Throws
/// std::runtime_error that names the file that cannot be read or written.
void write_zip(const std::filesystem::path& archive, const std::vector<ZipEntry>& entries);

}  // namespace prenorm::harness
