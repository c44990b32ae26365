// Fresh cases: the stored ones with new values, new truth and tolerances of their own.
#pragma once

#include "replay/calibrate.hpp"

namespace prenorm::harness {

struct FreshOptions {
  std::uint64_t seed = 0;
  bool resize = false;  // redraw the sizes that the case's `dims` names, from 1 to twice the stored
  int redraws = 15;     // for the tolerances
};

/// The case with fresh values where it has draw texts; truth in float64, tolerances by
/// calibrate(). A case that must be refused, or that has nothing to draw, stays as it is.
///
/// Sizes that the truth refuses (more positions than a table holds) are drawn again, in the end
/// kept. Throws std::runtime_error, naming the case, where a solution fails.
LoadedCase fresh_case(const std::string& problem, const Signature& signature,
                      const LoadedCase& stored, const Yardsticks& by, const FreshOptions& options);

}  // namespace prenorm::harness
