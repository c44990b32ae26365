// Where in the source a place in the code is.
#pragma once

#include "emulator.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace prenorm::emulator {

/// Whether the code is of the program or the submission, and none of a library's.
bool is_own(const void* code);

/// "mine.cu:12", the line before this address; binutils know it. A function of the emulator's
/// headers that the compiler has put into a kernel is not meant, but who calls it. Empty where
/// nothing is known.
std::string line_of(const void* code);
/// The innermost line of the program's own that is being executed.
std::string line_of_callers();

/// Of places in the code (addresses after them), the lines: the innermost first, then those that
/// call it, without what is the emulator's or the system's.
std::vector<std::vector<std::string>> lines_of(const std::vector<std::uint64_t>& places);

/// " (mine.cu:12)"; empty for an empty line.
std::string in_brackets(const std::string& line);

/// For describe_place.
std::string describe(const Place& place, const void* code);

}  // namespace prenorm::emulator
