// A failing case as a few lines of PyTorch, to be run beside adapters.py and without this program.
#pragma once

#include "fixture/verdict.hpp"
#include "grade/adapters.hpp"

namespace prenorm::harness {

/// At most 8 lines: the inputs inlined where they are small, else loaded from a file that the first
/// line says how to make; the call as the adapters make it; and what is expected. Empty for a
/// problem without a function, for a case that must be refused, and where the call's batch axes are
/// folded into one.
std::string snippet_of(const Adapters& adapters, const std::string& problem,
                       const Signature& signature, const LoadedCase& loaded, const Result& result);

}  // namespace prenorm::harness
