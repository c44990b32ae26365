#include "grade/diagnosis.hpp"

#include "replay/calibrate.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <cmath>

namespace prenorm::harness {
namespace {

/// A mistake "clearly fails" a case where an element misses its bound by more than this factor:
/// beside the tolerance another order of summation may pass where the mistake's own does not.
constexpr double clearly = 4;
/// The outputs must be this many times nearer to the mistake's than to the truth.
constexpr double nearer = 2;

struct Suspect {
  std::string mistake, function;
  std::int64_t agrees = 0, tried = 0;
  bool contradicted = false;
};

Tensor widened(const Tensor& tensor) {
  Tensor wide(DType::float64, tensor.shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) wide.set(i, tensor.at(i));
  return wide;
}

/// The case's tolerance for numbers of the mistake's size: its rounding errors are those of larger
/// numbers where it gives larger ones. An exact case stays exact.
Tolerance tolerance_at(const Tensor& mistaken, const Tensor& truth, const OutputInfo& output) {
  Tolerance tolerance = output.tolerance.value_or(Tolerance{});
  if (tolerance.atol == 0) return tolerance;
  const double size = root_mean_square(mistaken, output.dtype);
  const double wanted = root_mean_square(truth, output.dtype);
  if (wanted > 0 && size > wanted) tolerance.atol *= size / wanted;
  tolerance.atol = std::max(tolerance.atol, 4 * epsilon(output.dtype) * size);
  return tolerance;
}

/// What the mistake makes of the case; nothing where it is not written for the type, or fails.
std::optional<std::vector<Tensor>> outputs_of(const Suspect& suspect, const Evidence& evidence,
                                              const LoadedCase& loaded, Solution& mistakes,
                                              Result& verdict) {
  std::vector<Tensor> outputs;
  verdict = replay(suspect.function, *evidence.signature, loaded, mistakes,
                   {.twice = false, .alone = false}, &outputs);
  if (outputs.size() != loaded.expected.size()) return std::nullopt;
  return outputs;
}

/// Whether the submission's outputs of a case are the mistake's, and not the truth's.
bool agree(const std::vector<Tensor>& outputs, const std::vector<Tensor>& mistaken,
           const LoadedCase& loaded) {
  double to_mistake = 0, to_truth = 0;
  bool misplaced = false;  // NaN or infinite where the truth is not, or the other way round
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& info = loaded.info.outputs[i];
    if (outputs[i].dtype != mistaken[i].dtype || outputs[i].shape != mistaken[i].shape) {
      return false;
    }
    const Tensor wide = widened(mistaken[i]);
    const OutputReport by_mistake =
        compare("", outputs[i], wide, tolerance_at(wide, loaded.expected[i], info));
    if (by_mistake.mismatches > 0) return false;
    const OutputReport by_truth =
        compare("", outputs[i], loaded.expected[i], info.tolerance.value_or(Tolerance{}));
    to_mistake = std::max(to_mistake, by_mistake.max_abs_error.value_or(0));
    to_truth = std::max(to_truth, by_truth.max_abs_error.value_or(0));
    // Wrong, and not by a distance: the worst element has none.
    misplaced =
        misplaced || (by_truth.mismatches > 0 && !(std::isfinite(*by_truth.worst_actual) &&
                                                   std::isfinite(*by_truth.worst_expected)));
  }
  return misplaced || nearer * to_mistake < to_truth;
}

/// Whether the mistake's outputs miss a case by far.
bool fails_clearly(const std::vector<Tensor>& mistaken, const LoadedCase& loaded) {
  for (std::size_t i = 0; i < mistaken.size(); ++i) {
    Tolerance wide = loaded.info.outputs[i].tolerance.value_or(Tolerance{});
    wide.atol *= clearly;
    wide.rtol *= clearly;
    if (compare("", mistaken[i], loaded.expected[i], wide).mismatches > 0) return true;
  }
  return false;
}

bool can_explain_most(const Suspect& suspect, std::size_t cases) {
  const auto against = static_cast<std::size_t>(suspect.tried - suspect.agrees);
  return 2 * against < cases;
}

void hold_against_wrong(const Evidence& evidence, std::vector<Suspect>& suspects,
                        Solution& mistakes) {
  for (const Evidence::Wrong& wrong : evidence.wrong) {
    if (suspects.empty()) return;
    const LoadedCase loaded = evidence.load(wrong.number);
    for (Suspect& suspect : suspects) {
      Result verdict;
      const auto mistaken = outputs_of(suspect, evidence, loaded, mistakes, verdict);
      const bool agrees = mistaken && verdict.status == Status::incorrect_numerical &&
                          agree(wrong.outputs, *mistaken, loaded);
      ++suspect.tried;
      suspect.agrees += agrees ? 1 : 0;
    }
    std::erase_if(suspects, [&](const Suspect& suspect) {
      return !can_explain_most(suspect, evidence.wrong.size());
    });
  }
}

void hold_against_passed(const Evidence& evidence, std::vector<Suspect>& suspects,
                         Solution& mistakes) {
  for (const std::size_t number : evidence.passed) {
    if (suspects.empty()) return;
    const LoadedCase loaded = evidence.load(number);
    std::erase_if(suspects, [&](const Suspect& suspect) {
      Result verdict;
      const auto mistaken = outputs_of(suspect, evidence, loaded, mistakes, verdict);
      return mistaken && verdict.status == Status::incorrect_numerical &&
             fails_clearly(*mistaken, loaded);
    });
  }
}

}  // namespace

std::vector<Diagnosis> diagnose(const Evidence& evidence, Solution& mistakes) {
  std::vector<Diagnosis> found;
  if (evidence.wrong.empty() || !mistakes.load()) return found;
  std::vector<Suspect> suspects;
  for (const std::string& mistake : variants_of(evidence.problem, mistakes)) {
    suspects.push_back({mistake, evidence.problem + "__" + mistake});
  }
  hold_against_wrong(evidence, suspects, mistakes);
  hold_against_passed(evidence, suspects, mistakes);
  std::int64_t most = 0;
  for (const Suspect& suspect : suspects) most = std::max(most, suspect.agrees);
  const auto of = static_cast<std::int64_t>(evidence.wrong.size());
  for (const Suspect& suspect : suspects) {
    if (suspect.agrees < most) continue;
    found.push_back({evidence.problem, suspect.mistake, suspect.agrees, of});
  }
  return found;
}

}  // namespace prenorm::harness
