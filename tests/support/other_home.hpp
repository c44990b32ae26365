// A home for the program that a test fills itself.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

/// A home of the test's own: with solutions, without helpers.
struct OtherHome {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("prenorm_home_" + std::to_string(::getpid()));
  std::string before = std::getenv("PRENORM_HOME") == nullptr ? "" : std::getenv("PRENORM_HOME");

  OtherHome() {
    std::filesystem::create_directories(folder / "lib" / "prenorm");
    ::setenv("PRENORM_HOME", folder.c_str(), 1);
  }
  ~OtherHome() {
    std::filesystem::remove_all(folder);
    ::setenv("PRENORM_HOME", before.c_str(), 1);
  }
};
