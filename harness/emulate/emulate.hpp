// CUDA sources compiled for the emulator: programs of `prenorm emulate`, solutions of
// `prenorm verify` and `prenorm profile`; runs such programs, and says what they do wrong.
#pragma once

#include "base/paths.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

struct CudaSources {
  std::vector<std::string> files, includes, defines;
  std::string standard = "c++17";  // nvcc's own; solutions, which include prenorm.hpp, have c++20
};

/// Compiles and links a program with that check: init, memory, race, profile or none. False if that
/// fails, which the compiler has said. `folder` is for what comes between.
bool compile_cuda_program(const CudaSources& sources, const std::string& check,
                          const fs::path& folder, const fs::path& program);

/// The same for a solution's library, with all that the emulator finds or counts in one build. The
/// options are those of prenorm_add_solution (harness/cmake). Where it fails, the first errors are
/// said.
bool compile_cuda_solution(const CudaSources& sources, const fs::path& folder,
                           const fs::path& library);

/// What nvcc, where there is one ($CUDACXX, on PATH, or where the build found it), says of the
/// source's kernels on an architecture ("sm_90"): registers, spills, shared memory. Empty without
/// nvcc; where it does not take the source, that is said on standard error.
std::string ptxas_report(const std::string& source, const std::string& architecture,
                         const fs::path& folder);

/// Whether a solution's name is that of a CUDA source.
bool is_cuda_source(const std::string& solution);

/// Its library, in a folder of its own in `folder`. Throws UsageError if it does not compile.
fs::path compile_cuda_solution(const std::string& source, const fs::path& folder);

/// Runs a program to its end; returns its exit code, or 128 and the signal's number, which it says.
int run_program(const std::vector<std::string>& words, bool in_foreground = false);

struct CheckedRun {
  int exit_code = 0;   // the program's own; 1 where something was found
  bool found = false;  // what a sanitizer reported, which is on standard error in words of kernels
  std::string counts;  // of memory traffic, where the check is "profile" and the program has ended
};

/// Runs a program that was compiled with that check. `folder` is for files meanwhile.
CheckedRun run_checked(const std::vector<std::string>& words, const std::string& check,
                       const fs::path& folder);

}  // namespace prenorm::harness
