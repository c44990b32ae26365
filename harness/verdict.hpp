// Verdicts: what came of one case on one solution.
#pragma once

#include "tensor.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

enum class Status {
  passed,
  not_implemented,
  incorrect_shape,
  incorrect_dtype,
  incorrect_numerical,
  input_mutated,
  out_of_bounds,
  nondeterministic,
  runtime_error,
  timeout,
  out_of_memory,
  sandbox_violation,
  compile_error,
  load_error,
  bad_fixture,
  skipped,
};

/// "PASSED", "NOT_IMPLEMENTED", ...
std::string_view name(Status status);
/// The status of that name. Throws std::invalid_argument.
Status status_of(std::string_view name);

/// How one output compares with what was expected.
struct OutputReport {
  std::string name;
  // Nothing where nothing was compared; errors are over the elements where both are finite.
  std::optional<double> max_abs_error;
  std::optional<double> max_rel_error;  // elements whose expected value is 0 are left out
  std::optional<double> max_ulp_error;  // |y - expected| in spacings of the output's type
  std::optional<double> relative_l2_error;
  std::int64_t mismatches = 0;
  std::int64_t elements = 0;
  Shape worst_index;  // of the element that misses (or, all passing, nears) its tolerance most
  std::optional<double> worst_actual;
  std::optional<double> worst_expected;
  double atol = 0;
  double rtol = 0;
};

struct Result {
  std::string fixture;  // the file's path, as it was found
  std::string problem;
  std::optional<std::string> case_name;  // nothing for an unreadable file
  std::string solution;                  // as it was typed
  Status status = Status::skipped;
  std::string message;
  std::string dtype;
  double seconds = 0;  // of the first call
  std::string repeat;  // the command that repeats this case
  std::vector<OutputReport> outputs;
  /// Do rows of the batch give the same bits alone as together? Nothing where it was not tried.
  std::optional<bool> batch_invariant;
};

/// Counts of results: skipped holds SKIPPED, and NOT_IMPLEMENTED unless that counts as failed.
struct Summary {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
};
Summary summarize(const std::vector<Result>& results, bool not_implemented_fails = false);

/// The exit code for these results: 2 a bad fixture, 1 a failure, 3 nothing ran, 0.
int exit_code(const std::vector<Result>& results, bool not_implemented_fails = false);

}  // namespace prenorm::harness
