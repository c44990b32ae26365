// CUDA sources compiled for the emulator: programs of `prenorm emulate`, solutions of
// `prenorm verify` and `prenorm profile`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace prenorm::harness {

struct CudaSources {
  std::vector<std::string> files, includes, defines;
};

/// Compiles and links a program with that check: init, memory, race, profile or none. False if that
/// fails, which the compiler has said. `folder` is for what comes between.
bool compile_cuda_program(const CudaSources& sources, const std::string& check,
                          const std::filesystem::path& folder,
                          const std::filesystem::path& program);

/// The same for a solution's library, with all that the emulator finds or counts in one build. The
/// options are those of prenorm_add_solution (harness/cmake).
bool compile_cuda_solution(const CudaSources& sources, const std::filesystem::path& folder,
                           const std::filesystem::path& library);

/// What nvcc, where there is one ($CUDACXX, on PATH, or where the build found it), says of the
/// source's kernels on an architecture ("sm_90"): registers, spills, shared memory. Empty without
/// nvcc; where it does not take the source, that is said on standard error.
std::string ptxas_report(const std::string& source, const std::string& architecture,
                         const std::filesystem::path& folder);

/// Whether a solution's name is that of a CUDA source.
bool is_cuda_source(const std::string& solution);

/// Its library, in a folder of its own in `folder`. Throws UsageError if it does not compile.
std::filesystem::path compile_cuda_solution(const std::string& source,
                                            const std::filesystem::path& folder);

}  // namespace prenorm::harness
