// What a CUDA submission is built with where it runs in the emulator.
#pragma once

#include <filesystem>

namespace prenorm::harness {

/// Whether this build of prenorm has the emulator for submissions.
bool has_emulator();

/// Copies compiler, headers, archive and CMake package to a new folder, laid out like an
/// installation: in the sandbox nothing else of the harness can be seen. Throws CannotCopy.
void copy_emulator_kit(const std::filesystem::path& to);

}  // namespace prenorm::harness
