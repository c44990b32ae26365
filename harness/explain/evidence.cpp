#include "explain/diagnosis.hpp"

#include "fixture/verdict.hpp"
#include "replay/calibrate.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <cmath>

namespace prenorm::harness {
namespace {

/// A mistake "clearly fails" a case where an element misses its bound by more than this factor:
/// beside the tolerance another order of summation may pass where the mistake's own does not.
constexpr double clearly = 4;
/// The outputs must be this many times nearer to the mistake's than to the truth: more where
/// they are near to both.
constexpr double nearer = 2, much_nearer = 4;
/// Other forms of a deviation round otherwise than ours.
constexpr double room = 4;
/// Of the truth's root mean square: larger deviations would excuse everything.
constexpr double most_excused = 0.05;

/// The case's tolerance for numbers of the mistake's size: its rounding errors are those of larger
/// numbers where it gives larger ones. An exact case stays exact.
Tolerance tolerance_at(const Tensor& mistaken, const Tensor& truth, const OutputInfo& output) {
  Tolerance tolerance = output.tolerance.value_or(Tolerance{});
  tolerance.wide_atol = tolerance.wide_rtol = 0;
  if (tolerance.atol == 0) return tolerance;
  const double size = root_mean_square(mistaken, output.dtype);
  const double wanted = root_mean_square(truth, output.dtype);
  if (wanted > 0 && size > wanted) tolerance.atol *= size / wanted;
  tolerance.atol = std::max(tolerance.atol, 4 * epsilon(output.dtype) * size);
  return tolerance;
}

/// `mistaken` with the outputs' NaN for its rows of zeros.
void allow_nan_rows(const Tensor& outputs, Tensor& mistaken) {
  const std::int64_t width = outputs.shape.empty() ? 1 : outputs.shape.back();
  for (std::int64_t row = 0; row < outputs.size(); row += width) {
    const auto all = [&](auto holds) {
      for (std::int64_t i = row; i < row + width; ++i) {
        if (!holds(i)) return false;
      }
      return true;
    };
    if (!all([&](std::int64_t i) { return std::isnan(outputs.at(i)); })) continue;
    if (!all([&](std::int64_t i) { return mistaken.at(i) == 0; })) continue;
    for (std::int64_t i = row; i < row + width; ++i) mistaken.set(i, outputs.at(i));
  }
}

/// How far an output is beyond what rounding explains: OutputReport::times_allowed().
double times_rounding(const Tensor& output, const Tensor& truth, const Tolerance& tolerance) {
  return compare("", output, truth, {tolerance.atol, tolerance.rtol}).times_allowed();
}

/// Too little to tell a mistake by its size.
bool is_little(double times) { return times > 1 && times <= clearly; }

/// How far the outputs are from the mistake's and from the truth, where all are finite.
struct Distances {
  double to_mistake = 0, to_truth = 0;
  std::int64_t differing = 0;  // elements in which the mistake misses the truth
  bool misplaced = false;      // NaN or infinity where the truth has none, or another one
};

Distances measure(const Tensor& outputs, const Tensor& mistaken, const Tensor& truth,
                  const Tolerance& tolerance, double leeway) {
  Distances far;
  for (std::int64_t i = 0; i < outputs.size(); ++i) {
    const double y = outputs.at(i), m = mistaken.at(i), e = truth.at(i);
    const auto is_truth = [e](double value) {
      return value == e || (std::isnan(value) && std::isnan(e));
    };
    const bool finite = std::isfinite(y) && std::isfinite(e);
    far.misplaced = far.misplaced || (!finite && !is_truth(y));
    if (!std::isfinite(m) || !std::isfinite(e)) {
      far.differing += is_truth(m) ? 0 : 1;
      continue;
    }
    const double allowed = tolerance.bound(e) + leeway;
    far.differing += std::fabs(m - e) > allowed ? 1 : 0;
    if (!std::isfinite(y)) continue;
    far.to_mistake = std::max(far.to_mistake, std::fabs(y - m));
    far.to_truth = std::max(far.to_truth, std::fabs(y - e));
  }
  return far;
}

}  // namespace

std::vector<Tensor> outputs_of(const std::string& function, const Signature& signature,
                               const LoadedCase& loaded, Solution& solution) {
  Outcome outcome = solution.call(call_of(function, signature, loaded.inputs, loaded.info));
  if (outcome.status != Status::passed) return {};
  return std::move(outcome.outputs);
}

std::optional<double> beyond_rounding(const std::vector<Tensor>& outputs,
                                      const LoadedCase& loaded) {
  double worst = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tolerance tolerance = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    worst = std::max(worst, times_rounding(outputs[i], loaded.expected[i], tolerance));
  }
  return is_little(worst) ? std::optional(worst) : std::nullopt;
}

void Leeway::add(const std::vector<Tensor>& deviating, const std::vector<Tensor>& truth) {
  most_.resize(truth.size(), 0);
  for (std::size_t i = 0; i < deviating.size() && i < truth.size(); ++i) {
    double largest = 0;
    for (std::int64_t at = 0; at < truth[i].size(); ++at) {
      const double difference = std::fabs(deviating[i].at(at) - truth[i].at(at));
      if (std::isfinite(difference)) largest = std::max(largest, difference);
    }
    const double most = most_excused * root_mean_square(truth[i], deviating[i].dtype);
    most_[i] = std::max(most_[i], std::min(room * largest, most));
  }
}

std::optional<double> agreement(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& mistaken, const LoadedCase& loaded,
                                const Leeway& leeway) {
  double distance = 0;
  bool misses = false, is_nearer = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& info = loaded.info.outputs[i];
    if (outputs[i].dtype != mistaken[i].dtype || outputs[i].shape != mistaken[i].shape) {
      return std::nullopt;
    }
    const Tensor& truth = loaded.expected[i];
    const Tolerance given = info.tolerance.value_or(Tolerance{});
    const Tensor wide = converted(mistaken[i], DType::float64);
    Tensor with_nan = wide;
    allow_nan_rows(outputs[i], with_nan);
    Tolerance tolerance = tolerance_at(wide, truth, info);
    tolerance.atol += leeway.of(i);
    if (compare("", outputs[i], with_nan, tolerance).mismatches > 0) return std::nullopt;
    const OutputReport own = compare("", mistaken[i], truth, given);
    if (own.passes()) continue;
    const Distances far = measure(outputs[i], wide, truth, given, leeway.of(i));
    misses = misses || far.differing > 0 || own.mismatches == 0;
    const bool little = is_little(times_rounding(outputs[i], truth, given));
    const double times = little ? much_nearer : nearer;
    is_nearer = is_nearer || far.misplaced || times * far.to_mistake < far.to_truth;
    distance += far.to_mistake / (tolerance.atol > 0 ? tolerance.atol : 1);
  }
  if (!misses || !is_nearer) return std::nullopt;
  return distance;
}

bool is_within(const std::vector<Tensor>& outputs, const LoadedCase& loaded, const Leeway& leeway) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tolerance tolerance = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    tolerance.atol += leeway.of(i);
    if (!compare("", outputs[i], loaded.expected[i], tolerance).passes()) return false;
  }
  return true;
}

bool fails_clearly(const std::vector<Tensor>& mistaken, const LoadedCase& loaded) {
  for (std::size_t i = 0; i < mistaken.size(); ++i) {
    Tolerance wide = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    wide.atol *= clearly;
    wide.rtol *= clearly;
    wide.wide_atol *= clearly;
    wide.wide_rtol *= clearly;
    if (compare("", mistaken[i], loaded.expected[i], wide).mismatches > 0) return true;
  }
  return false;
}

}  // namespace prenorm::harness
