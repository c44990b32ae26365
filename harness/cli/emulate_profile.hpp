// What the kernels of a program that `emulate --profile` ran have done to memory.
#pragma once

#include <filesystem>
#include <string>

namespace prenorm::harness {

/// Two tables: the kernels, and the lines of the source that cost most. `counts` is the text that
/// the program has written, `program` its file, which knows the lines. Empty if no kernel ran.
std::string profile_of_program(const std::string& counts, const std::filesystem::path& program,
                               bool colour);

}  // namespace prenorm::harness
