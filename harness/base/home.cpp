#include "base/home.hpp"

#include <cstdlib>
#include <stdexcept>

namespace prenorm::harness {

namespace fs = std::filesystem;

fs::path home() {
  if (const char* given = std::getenv("PRENORM_HOME"); given != nullptr && *given != '\0') {
    return given;
  }
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);  // <home>/bin/prenorm
  if (failed) {
    throw std::runtime_error(
        "cannot find the program's own folder without /proc: set PRENORM_HOME to it");
  }
  return program.parent_path().parent_path();
}

std::string program_name() {
  const char* launcher = std::getenv("PRENORM_LAUNCHER");
  return launcher != nullptr && *launcher != '\0' ? launcher : "prenorm";
}

}  // namespace prenorm::harness
