// Checks of a readable fixture: rules for one case, and for a whole file.
#include "replay/replay.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"
#include "fixture/catalogue.hpp"
#include "fixture/describe.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace prenorm::harness {
namespace {

Tensor filled(const Tensor& expected, DType dtype, const std::function<double(double)>& value) {
  Tensor tensor(dtype, expected.shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value(expected.at(i)));
  return tensor;
}

bool passes(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  return compare("", actual, expected, tolerance).passes();
}

bool all_of(const Tensor& expected, const std::function<bool(double)>& test) {
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    if (!test(expected.at(i))) return false;
  }
  return true;
}

/// Dtypes in which a solution might compute although it returns `dtype`.
std::vector<DType> narrower(DType dtype) {
  if (dtype == DType::float64) return {DType::float32};
  if (dtype == DType::float32) return {DType::float16, DType::bfloat16};
  return {};
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The rules about one output and a usable tolerance of it.
class OutputLint {
 public:
  OutputLint(std::string where, const OutputInfo& info, const Tensor& expected,
             std::vector<Finding>& findings)
      : where_(std::move(where)), info_(info), expected_(expected), findings_(findings) {}

  /// Under a tf32 tolerance an answer in a narrower type may well pass.
  void run(const Tolerance& tolerance, bool tf32) {
    if (tf32) where_ += "by the tf32 tolerance ";
    check_rounded(tolerance);
    check_zeros(tolerance);
    for (const DType narrow : narrower(info_.dtype)) {
      if (!tf32) check_narrow(tolerance, narrow);
    }
    check_overflow(tolerance);
  }

 private:
  void defect(const std::string& what) { findings_.push_back({true, where_ + what}); }
  double rounded(double value) const { return round_to(info_.dtype, value); }

  void check_rounded(const Tolerance& tolerance) {
    const Tensor best = filled(expected_, info_.dtype, [](double e) { return e; });
    if (passes(best, expected_, tolerance)) return;
    defect("the exact answer, rounded to " + std::string(name(info_.dtype)) +
           ", does not pass: the tolerance is too small");
  }

  void check_zeros(const Tolerance& tolerance) {
    if (all_of(expected_, [this](double e) { return rounded(e) == 0; })) return;
    if (passes(Tensor(info_.dtype, expected_.shape), expected_, tolerance)) {
      defect("zeros pass: the tolerance is too large");
    }
  }

  void check_narrow(const Tolerance& tolerance, DType narrow) {
    const auto narrowed = [&](double e) { return round_to(narrow, e); };
    if (all_of(expected_, [&](double e) { return same(narrowed(e), rounded(e)); })) return;
    if (passes(filled(expected_, info_.dtype, narrowed), expected_, tolerance)) {
      defect("an answer rounded to " + std::string(name(narrow)) + " passes as " +
             std::string(name(info_.dtype)) + ": the tolerance is too large");
    }
  }

  void check_overflow(const Tolerance& tolerance) {
    const double threshold = overflow_threshold(info_.dtype);
    const auto near = [&](double e) {
      const double bound = tolerance.atol + tolerance.rtol * std::abs(e);
      return std::isfinite(e) && std::isfinite(threshold) &&
             std::abs(std::abs(e) - threshold) <= bound;
    };
    for (std::int64_t i = 0; i < expected_.size(); ++i) {
      if (!near(expected_.at(i))) continue;
      defect("expected" + to_text(index_of(i, expected_.shape)) + " = " +
             short_number(expected_.at(i)) + " is within its tolerance of the value at which " +
             std::string(name(info_.dtype)) + " overflows");
      return;
    }
  }

  std::string where_;
  const OutputInfo& info_;
  const Tensor& expected_;
  std::vector<Finding>& findings_;
};

bool is_usable(const Tolerance& tolerance) {
  const auto usable = [](double bound) { return bound >= 0 && std::isfinite(bound); };
  return usable(tolerance.atol) && usable(tolerance.rtol) && usable(tolerance.rms.value_or(0)) &&
         usable(tolerance.bias.value_or(0));
}

bool is_prime(std::int64_t n) {
  if (n < 2) return false;
  for (std::int64_t divisor = 2; divisor * divisor <= n; ++divisor) {
    if (n % divisor == 0) return false;
  }
  return true;
}

/// The sizes of the case's axes: those of the named dimensions and of the batch.
std::set<std::int64_t> sizes_of(const Case& info) {
  std::set<std::int64_t> sizes(info.binding.batch.begin(), info.binding.batch.end());
  for (const auto& [dim, size] : info.binding.sizes) sizes.insert(size);
  for (const auto& input : info.inputs) {
    if (input) sizes.insert(input->type.shape.begin(), input->type.shape.end());
  }
  return sizes;
}

void hint_types(const Fixture& fixture, std::vector<Finding>& findings) {
  std::vector<std::string> missing;
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const bool has = std::ranges::any_of(
        fixture.cases(), [dtype](const Case& info) { return info.dtype() == dtype; });
    if (!has) missing.emplace_back(name(dtype));
  }
  if (!missing.empty()) findings.push_back({false, "no case in " + list_text(missing)});
}

void hint_batches(const Fixture& fixture, std::vector<Finding>& findings) {
  const bool has_batch = std::ranges::any_of(fixture.signature().inputs, &TensorSpec::batched);
  if (!has_batch || fixture.signature().whole_shape()) return;
  std::set<std::size_t> ranks;
  bool empty = false;
  for (const Case& info : fixture.cases()) {
    ranks.insert(info.binding.batch.size());
    empty = empty || element_count(info.binding.batch) == 0;
  }
  std::vector<std::string> missing;
  for (std::size_t rank = 0; rank <= 5; ++rank) {
    if (!ranks.contains(rank)) missing.push_back(std::to_string(rank));
  }
  if (!missing.empty())
    findings.push_back({false, "no case with " + list_text(missing) + " batch axes"});
  if (!empty) findings.push_back({false, "no case with an empty batch"});
}

/// The inputs that bring the case its batch axes.
std::set<std::string> with_batch(const Signature& signature, const Case& info) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (info.inputs[i] && info.inputs[i]->type.shape.size() > spec.dims.size()) {
      names.insert(spec.name);
    }
  }
  return names;
}

void hint_who_brings_the_batch(const Fixture& fixture, std::vector<Finding>& findings) {
  std::set<std::set<std::string>> brought;
  for (const Case& info : fixture.cases()) brought.insert(with_batch(fixture.signature(), info));
  std::vector<std::string> missing;
  for (const TensorSpec& input : fixture.signature().inputs) {
    if (input.batched && !brought.contains({input.name})) missing.push_back(input.name);
  }
  if (!missing.empty())
    findings.push_back({false, "never alone with batch axes: " + joined(missing)});
}

/// Code that is right up to some size shows only where each size is large by itself. One that a
/// tensor has twice need not be huge.
void hint_long_axes(const Fixture& fixture, std::vector<Finding>& findings) {
  std::map<std::string, std::set<std::int64_t>> sizes;
  for (const Case& info : fixture.cases()) {
    for (const auto& [dim, size] : info.binding.sizes) {
      if (!info.error) sizes[dim].insert(size);
    }
  }
  const auto is_square = [&](const std::string& dim) {
    return std::ranges::any_of(fixture.signature().inputs, [&](const TensorSpec& input) {
      return std::ranges::count(input.dims, dim) > 1;
    });
  };
  for (const auto& [dim, found] : sizes) {
    const auto any = [&found](auto test) { return std::ranges::any_of(found, test); };
    std::vector<std::string> never;
    if (!any([](std::int64_t n) { return n == 1 || n == 2; })) never.emplace_back("1");
    if (!any([](std::int64_t n) { return 258 <= n && n <= 1023 && n % 4 != 0; })) {
      never.emplace_back("odd, or twice an odd number, from 258 to 1023");
    }
    if (!is_square(dim) && !any([](std::int64_t n) { return n > 4096; })) {
      never.emplace_back("beyond 4096");
    }
    if (!never.empty()) findings.push_back({false, dim + " is never " + joined(never, "; ")});
  }
}

void hint_sizes(const Fixture& fixture, std::vector<Finding>& findings) {
  std::set<std::int64_t> sizes;
  for (const Case& info : fixture.cases()) sizes.merge(sizes_of(info));
  std::vector<std::string> missing;
  for (const std::int64_t size : {1, 31, 32, 33, 255, 256, 257}) {
    if (!sizes.contains(size)) missing.push_back(std::to_string(size));
  }
  // 31 and 257 are primes too, but have their own entries in this list.
  const bool prime = std::ranges::any_of(
      sizes, [](std::int64_t n) { return is_prime(n) && n != 2 && n != 31 && n != 257; });
  if (!prime) missing.emplace_back("another prime");
  if (!missing.empty()) findings.push_back({false, "no axis of size " + list_text(missing)});
}

std::string digest_of(const std::optional<Tensor>& input) {
  if (!input) return "absent";
  Digest digest;
  digest.add(to_text(input->shape));
  digest.add_bytes({reinterpret_cast<const char*>(input->data.data()), input->data.size()});
  return digest.hex();
}

/// A solution that ignores an argument, or takes it from an earlier call, shows for certain only
/// where two cases differ in that argument and in nothing else.
void hint_alone(const Fixture& fixture, std::vector<Finding>& findings) {
  const Signature& signature = fixture.signature();
  std::vector<std::string> names;
  for (const TensorSpec& input : signature.inputs) names.push_back(input.name);
  for (const ScalarSpec& scalar : signature.scalars) names.push_back(scalar.name);
  // For each argument: its values in the cases where the rest is the same.
  std::vector<std::map<std::string, std::set<std::string>>> values(names.size());
  for (const Case& info : fixture.cases()) {
    if (info.error) continue;
    std::vector<std::string> arguments;
    try {
      for (const auto& input : fixture.inputs(info)) arguments.push_back(digest_of(input));
    } catch (const BadFixture&) {  // a defect that is found where the case is loaded
      continue;
    }
    for (const Scalar& scalar : info.scalars) arguments.push_back(to_text(scalar));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::string rest(name(info.dtype()));
      for (std::size_t j = 0; j < arguments.size(); ++j) rest += j == i ? " -" : " " + arguments[j];
      if (i < info.inputs.size() && info.inputs[i] && !signature.inputs[i].optional) {
        rest += to_text(info.inputs[i]->type.shape);
      }
      values[i][rest].insert(arguments[i]);
    }
  }
  std::vector<std::string> never;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool alone = std::ranges::any_of(
        values[i], [](const auto& rest_and_values) { return rest_and_values.second.size() > 1; });
    if (!alone) never.push_back(names[i]);
  }
  if (never.empty()) return;
  findings.push_back({false, "never the only difference between two cases: " + joined(never)});
}

void hint_texts(const Fixture& fixture, std::vector<Finding>& findings) {
  std::size_t undescribed = 0, kept = 0;
  for (const Case& info : fixture.cases()) {
    if (info.description.empty()) ++undescribed;
    const bool draws = std::ranges::any_of(
        info.inputs, [](const auto& input) { return input && !input->draw.empty(); });
    if (!draws && !info.error) ++kept;
  }
  if (undescribed > 0) {
    findings.push_back({false, counted(undescribed, "case") + " without a description"});
  }
  if (kept > 0) {
    findings.push_back(
        {false, counted(kept, "case") + " without a draw text: no fresh values can be drawn"});
  }
}

/// A row of `values`[..., m, d] that is not finite and that `mask`[..., n, m] hides from one of the
/// n; nothing if there is none.
std::optional<std::int64_t> hidden_row(const Shape& batch, const Tensor& mask,
                                       const Tensor& values) {
  const std::int64_t m = mask.shape.back(), n = mask.shape[mask.shape.size() - 2];
  const std::int64_t width = values.shape.back();
  for (std::int64_t b = 0; b < element_count(batch); ++b) {
    const Shape at = index_of(b, batch);
    const std::int64_t seen = row_at(mask.shape, 2, at) * n * m;
    const std::int64_t rows = row_at(values.shape, 2, at) * m * width;
    for (std::int64_t i = 0; i < m * width; ++i) {
      if (std::isfinite(values.at(rows + i))) continue;
      for (std::int64_t query = 0; query < n; ++query) {
        if (mask.at(seen + query * m + i / width) == 0) return i / width;
      }
    }
  }
  return std::nullopt;
}

/// What comes out of a value that is hidden and not finite is left open: 0 times it, or nothing.
void check_hidden(const Signature& signature, const LoadedCase& loaded,
                  std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& mask = signature.inputs[i];
    if (!loaded.inputs[i] || mask.dtype != DType::boolean || mask.dims.size() != 2) continue;
    for (std::size_t j = 0; j < signature.inputs.size(); ++j) {
      const TensorSpec& spec = signature.inputs[j];
      if (!loaded.inputs[j] || spec.dtype || spec.dims.size() != 2) continue;
      if (spec.dims[0] != mask.dims[1]) continue;
      const auto row = hidden_row(loaded.info.binding.batch, *loaded.inputs[i], *loaded.inputs[j]);
      if (!row) continue;
      findings.push_back({true, "case " + loaded.info.name + ", input " + spec.name + ": row " +
                                    std::to_string(*row) + " is not finite, and " + mask.name +
                                    " hides it: what comes out is not specified"});
    }
  }
}

}  // namespace

std::vector<Finding> lint_case(const Signature& signature, const LoadedCase& loaded) {
  std::vector<Finding> findings;
  const Case& info = loaded.info;
  check_hidden(signature, loaded, findings);
  for (std::size_t i = 0; i < info.outputs.size() && !info.error; ++i) {
    const OutputInfo& output = info.outputs[i];
    const std::string where = "case " + info.name + ", output " + signature.outputs[i].name + ": ";
    if (!output.tolerance) continue;
    if (!is_usable(*output.tolerance) ||
        (output.tolerance_tf32 && !is_usable(*output.tolerance_tf32))) {
      findings.push_back({true, where + "a tolerance is negative or not finite"});
      continue;
    }
    OutputLint lint(where, output, loaded.expected[i], findings);
    lint.run(*output.tolerance, false);
    if (output.tolerance_tf32) lint.run(*output.tolerance_tf32, true);
  }
  return findings;
}

std::vector<Finding> lint_coverage(const Fixture& fixture) {
  std::vector<Finding> findings;
  hint_types(fixture, findings);
  hint_batches(fixture, findings);
  hint_who_brings_the_batch(fixture, findings);
  hint_long_axes(fixture, findings);
  hint_sizes(fixture, findings);
  hint_alone(fixture, findings);
  hint_texts(fixture, findings);
  const bool refuses =
      std::ranges::any_of(fixture.cases(), [](const Case& info) { return info.error.has_value(); });
  if (!refuses) findings.push_back({false, "no case that must be refused"});
  return findings;
}

}  // namespace prenorm::harness
