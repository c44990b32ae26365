// The folders of the program and its parts, and how it was called.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace prenorm {
namespace fs = std::filesystem;
}

namespace prenorm::harness {

/// The root of the build tree or installation that this program belongs to: its helpers are in
/// libexec/prenorm, its solutions in lib/prenorm, its data in share/prenorm. $PRENORM_HOME
/// overrides it. Throws std::runtime_error if it cannot be found.
inline fs::path home() {
  if (const char* given = std::getenv("PRENORM_HOME"); given != nullptr && *given != '\0') {
    return given;
  }
  std::error_code failed;
  // <home>/bin/prenorm
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) {
    throw std::runtime_error(
        "cannot find the program's own folder without /proc: set PRENORM_HOME to it");
  }
  return program.parent_path().parent_path();
}

/// How the program was called, for commands to copy: "./prenorm" or "prenorm".
inline std::string program_name() {
  const char* launcher = std::getenv("PRENORM_LAUNCHER");
  return launcher != nullptr && *launcher != '\0' ? launcher : "prenorm";
}

}  // namespace prenorm::harness
