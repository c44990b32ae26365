// One source from the two that a preprocessor makes of a .cu file: with __CUDA_ARCH__, as device
// code sees it, and without, as host code does.
#pragma once

#include "tokens.hpp"

namespace prenorm::emulator::front {

/// A function of both sides whose body is not the same for both asks where it runs. Elsewhere each
/// side has its own; what is declared only for one of them is kept, and where both declare
/// something else, the device's is.
std::vector<Token> merge(const std::vector<Token>& device, const std::vector<Token>& host);

}  // namespace prenorm::emulator::front
