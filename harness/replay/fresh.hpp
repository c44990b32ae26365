// Fresh cases: stored cases with new inputs, new expected values and new tolerances.
#pragma once

#include "replay/calibrate.hpp"

namespace prenorm::harness {

struct FreshOptions {
  std::uint64_t seed = 0;
  bool resize = false;  // redraw the sizes that the case's `dims` names, from 1 to twice the stored
  int redraws = 15;     // for the tolerances
};

/// The case with fresh values where it has draw texts; expected values in float64, tolerances by
/// calibrate(). A case that must be refused, or that has nothing to draw, is unchanged.
///
/// Sizes that the reference rejects (more positions than a table holds) are drawn again, and
/// finally kept. Throws std::runtime_error that names the case if a solution fails.
LoadedCase fresh_case(const std::string& problem, const Signature& signature,
                      const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options);

}  // namespace prenorm::harness
