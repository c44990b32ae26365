// Runs programs that were compiled for the emulator, and says what they do wrong.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Runs a program to its end; returns its exit code, or 128 and the signal's number, which it says.
int run_program(const std::vector<std::string>& words, bool in_foreground = false);

struct CheckedRun {
  int exit_code = 0;   // the program's own; 1 where something was found
  bool found = false;  // what a sanitizer reported, which is on standard error in words of kernels
  std::string counts;  // of memory traffic, where the check is "profile" and the program has ended
};

/// Runs a program that was compiled with that check (compile.hpp). `folder` is for files meanwhile.
CheckedRun run_checked(const std::vector<std::string>& words, const std::string& check,
                       const std::filesystem::path& folder);

}  // namespace prenorm::harness
