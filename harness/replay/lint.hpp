// Checks of a readable fixture: rules for one case, and for a whole file.
#pragma once

#include "replay/replay.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

struct Finding {
  bool defect = true;  // else a hint: an improvement, not an error
  std::string what;
};

/// The rules about one case's tolerances and values, for outputs that have a tolerance:
///
/// - its numbers are finite and non-negative;
/// - the exact answer, rounded to the output's type, passes;
/// - zeros do not pass, unless every expected value rounds to zero;
/// - an answer rounded to a narrower type does not pass, unless that rounding changes nothing;
/// - no expected value lies within its tolerance of the overflow threshold.
///
/// The same rules hold for a tf32 tolerance, except the one about narrower types.
std::vector<Finding> lint_case(const Signature& signature, const LoadedCase& loaded);

/// Hints about what the cases as a whole lack: dtypes, batch axes, sizes, empty batches, errors,
/// descriptions, draw texts, pairs of cases that differ in one input or scalar alone.
std::vector<Finding> lint_coverage(const Fixture& fixture);

}  // namespace prenorm::harness
