// Replay: one case of a fixture through one solution. Checks of a readable fixture.
#pragma once

#include "fixture/verdict.hpp"
#include "solution/solution.hpp"

namespace prenorm::harness {

/// A call of one function; the arguments must outlive it.
Call call_of(const std::string& function, const Signature& signature, const Inputs& inputs,
             const std::vector<Scalar>& scalars, std::vector<TensorType> outputs);
/// With the scalars of that case, and outputs as it has them.
Call call_of(const std::string& function, const Signature& signature, const Inputs& inputs,
             const Case& info);

/// The row of a tensor [..., dims] that belongs to that index of the whole batch, to which its own
/// batch axes are broadcast. `named`: how many of its axes are no batch axes.
std::int64_t row_at(const Shape& shape, std::size_t named, const Shape& index);

/// The rows that a tensor holds for those of the whole batch, one behind the other: [..., dims]
/// becomes [rows, dims]. A tensor without batch axes of its own stays as it is.
Tensor rows_of(const Tensor& tensor, std::size_t named, const Shape& batch,
               const std::vector<std::int64_t>& rows);

/// Compares what a call gave. Without a mismatch `result` stays PASSED.
void compare_outputs(const Signature& signature, const std::vector<Tensor>& expected,
                     const std::vector<Tolerance>& allowed, const std::vector<Tensor>& outputs,
                     Result& result);

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
/// - no expected value lies within its tolerance of the overflow threshold;
/// - no row of a mask, a bool input [..., n, m], hides one that is not finite of an input
///   [..., m, d].
///
/// The same rules hold for a tf32 tolerance, except the one about narrower types.
std::vector<Finding> lint_case(const Signature& signature, const LoadedCase& loaded);

/// Hints about what the cases as a whole lack: dtypes, batch axes, sizes, empty batches, errors,
/// descriptions, draw texts, pairs of cases that differ in one input or scalar alone.
std::vector<Finding> lint_coverage(const Fixture& fixture);

}  // namespace prenorm::harness
