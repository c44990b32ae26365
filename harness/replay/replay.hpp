// Replay: one case of a fixture through one solution.
#pragma once

#include "fixture/compare.hpp"
#include "solution/solution.hpp"

namespace prenorm::harness {

struct ReplayOptions {
  bool twice = true;  // the same call again
  bool alone = true;  // is the first row of the batch the same alone? a property, not a failure
  /// What the second call must give: true: the same bits, or it is NONDETERMINISTIC; false: what
  /// the first one must.
  bool same_bits = true;
  bool inputs_may_change = false;  // true: it is no failure, and the message says so
};

/// Runs the case and judges it. `outputs`, if given, receives the solution's outputs, if any.
///
/// Never throws because of a solution. Fills status, message, seconds, outputs, dtype, problem,
/// case_name, solution, deterministic and batch_invariant; fixture and repeat are the caller's.
Result replay(const std::string& problem, const Signature& signature, const LoadedCase& loaded,
              Solution& solution, const ReplayOptions& options = {},
              std::vector<Tensor>* outputs = nullptr);

}  // namespace prenorm::harness
