// What device code names that is the host's: nvcc refuses it, and here it would work.
#pragma once

#include "tokens.hpp"

namespace prenorm::emulator::front {

/// Throws Refused where a kernel or a __device__ function names a variable of the host's, or calls
/// a function of the host's. Only names are looked at: what may mean something else in that place
/// passes, and so do members and what libraries declare, except for a few well-known functions.
void look_at_sides(const std::vector<Token>& tokens);

}  // namespace prenorm::emulator::front
