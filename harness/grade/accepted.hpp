// Known mistakes that a rubric forgives.
#pragma once

#include "replay/calibrate.hpp"

namespace prenorm::harness {

/// How much wider the absolute tolerance of each output is so that the problem's mistakes with
/// these names (globs) pass the case, and what is computed alike: four times the largest deviation
/// of any of them from the truth on the case's own inputs, and at most half of the truth's root
/// mean square, so that zeros pass nothing. Those that give other shapes, NaN or infinity elsewhere
/// than the truth count for nothing. Empty where nothing is accepted.
std::vector<double> accepted_deviations(const std::vector<std::string>& names,
                                        const std::string& problem, const Signature& signature,
                                        const LoadedCase& loaded, Solution& mistakes);

}  // namespace prenorm::harness
