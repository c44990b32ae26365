// Functions that take a fixed number of axes where any number of batch axes may stand.
#pragma once

#include "fixture/verdict.hpp"
#include "fixture/fixture.hpp"

namespace prenorm::harness {

class Solution;

/// What to say of a case that failed with an exception or a wrong shape: whether it passes with a
/// batch axis of size 1 added to, or taken from, every batched input. Empty where it does not, or
/// where the signature has no batch axes. Two calls at most.
std::string axes_hint(const std::string& problem, const Signature& signature,
                      const LoadedCase& loaded, const Result& result, Solution& solution);

}  // namespace prenorm::harness
