// What the emulator lacks, by the compiler's errors about it.
#pragma once

#include <string>

namespace prenorm::emulator::front {

/// "file:line: curand.h is not emulated", where the preprocessor found no header, and
/// "file:line: NAME (a texture) is not emulated, nor OTHER (line 9)", where errors of the compiler
/// are about names of the toolkit that nobody has declared; empty where they are not.
std::string what_is_missing(const std::string& errors);

}  // namespace prenorm::emulator::front
