// Functions that take a fixed number of axes where any number of batch axes may stand.
#pragma once

#include "fixture/verdict.hpp"
#include "fixture/fixture.hpp"

namespace prenorm::harness {

class Solution;

/// Calls with other axes that are worth their time: of one problem, for all of its cases.
inline constexpr int calls_with_other_axes = 6;

/// What to say of a case that failed with an exception, a wrong shape or wrong numbers: whether it
/// passes with one batch axis, or two, in every batched input, those that it has joined into one
/// where they are more. Empty where it does not, or where the signature has no batch axes. Each
/// call that it makes is taken from `calls`; where none is left, it makes none.
std::string axes_hint(const std::string& problem, const Signature& signature,
                      const LoadedCase& loaded, const Result& result, Solution& solution,
                      int& calls);

}  // namespace prenorm::harness
