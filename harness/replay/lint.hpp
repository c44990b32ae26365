// What is wrong with a fixture that can be read: rules about one case, or about a whole file.
#pragma once

#include "replay/replay.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

struct Finding {
  bool defect = true;  // else a hint: worth doing, wrong without it nothing is
  std::string what;
};

/// The rules about one case's tolerances and values, for outputs that have a tolerance:
///
/// - no number in it is negative or not finite;
/// - the exact answer, rounded to the output's type, passes;
/// - zeros do not pass, unless every expected value rounds to zero;
/// - an answer rounded to a narrower type does not pass, unless that rounding changes nothing;
/// - no expected value lies within its tolerance of the overflow threshold.
///
/// A tf32 tolerance goes by the same rules, but for that of the narrower type.
std::vector<Finding> lint_case(const Signature& signature, const LoadedCase& loaded);

/// Hints about what the cases together leave out: types, batch axes, sizes, empty batches, errors,
/// descriptions, draw texts.
std::vector<Finding> lint_coverage(const Fixture& fixture);

}  // namespace prenorm::harness
