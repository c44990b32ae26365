// Known mistakes that a rubric forgives.
#pragma once

#include "replay/fresh.hpp"

namespace prenorm::harness {

/// Widens the case's tolerances so that the problem's mistakes with these names (globs) pass it,
/// and what is computed alike: by four times the largest deviation of any of them from the truth
/// on the case's own inputs. Those that give other shapes, NaN or infinity elsewhere than the truth
/// widen nothing.
void accept_mistakes(const std::vector<std::string>& names, const std::string& problem,
                     const Signature& signature, Solution& mistakes, LoadedCase& loaded);

}  // namespace prenorm::harness
