// A copy of what somebody handed in, for the process that may write it.
#pragma once

#include <filesystem>

namespace prenorm::sandbox {

/// Copies a folder's entries into another, for whose owner they can be written. Links stay links.
/// The folder is one that the grader has copied before: it is no deeper than that allows.
///
/// Throws std::filesystem::filesystem_error.
void copy_writable(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace prenorm::sandbox
