// Libraries that submissions were built into, kept for commands that repeat one case.
//
// A library is kept under a digest of all that the build was made from, so it can only ever stand
// in for itself. The folder belongs to this user and lies where no submission can write.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace prenorm::harness {

/// The digest of a build: of the files handed in, of what is in the folders of headers and
/// packages, of the script that builds, and of the compilers here. `scratch` is the folder for
/// temporary ones. Throws what digest_snapshot() throws.
std::string build_key(const std::filesystem::path& submission, const std::filesystem::path& scratch,
                      std::span<const std::filesystem::path> folders, const std::string& script);

/// The library that was built under that key, if it is still kept; else an empty path.
std::filesystem::path kept_build(const std::string& key);

/// Keeps a library, and the few that were kept last. What fails here costs only time later.
void keep_build(const std::string& key, const std::string& library);

}  // namespace prenorm::harness
