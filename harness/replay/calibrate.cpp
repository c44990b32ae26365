#include "replay/calibrate.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>

namespace prenorm::harness {
namespace {

std::vector<const Tensor*> pointers(const std::vector<std::optional<Tensor>>& inputs) {
  std::vector<const Tensor*> all;
  for (const auto& input : inputs) all.push_back(input ? &*input : nullptr);
  return all;
}

/// Calls the problem's function; throws unless it returns outputs.
std::vector<Tensor> outputs_of(const std::string& problem, const Signature& signature,
                               Solution& solution, const std::vector<std::optional<Tensor>>& inputs,
                               const std::vector<Scalar>& scalars,
                               const std::vector<TensorType>& types) {
  if (!solution.load()) {
    throw std::runtime_error(solution.label() + " cannot be used: " + solution.message());
  }
  const std::string function = solution.function_for(problem);
  if (function.empty()) {
    throw std::runtime_error(solution.label() + " has no function for " + problem);
  }
  Call call;
  call.function = function;
  call.signature = &signature;
  call.inputs = pointers(inputs);
  call.scalars = scalars;
  call.outputs = types;
  Outcome outcome = solution.call(call);
  if (outcome.status != Status::passed) {
    throw std::runtime_error(solution.label() + " fails: " + std::string(name(outcome.status)) +
                             (outcome.message.empty() ? "" : ", " + outcome.message));
  }
  return std::move(outcome.outputs);
}

Tensor widened(const Tensor& narrow) {
  Tensor wide(DType::float64, narrow.shape);
  for (std::int64_t i = 0; i < narrow.size(); ++i) wide.set(i, narrow.at(i));
  return wide;
}

/// Float scalars changed by a relative 2^-50 at most.
std::vector<Scalar> nudged(std::vector<Scalar> scalars, std::mt19937_64& random) {
  for (Scalar& scalar : scalars) {
    if (double* value = std::get_if<double>(&scalar)) {
      const double step = 2 * static_cast<double>(random() >> 11) * 0x1p-53 - 1;  // [-1, 1)
      *value *= 1 + step * 0x1p-50;
    }
  }
  return scalars;
}

bool is_exact(const OutputInfo& output) {
  return output.tolerance && output.tolerance->atol == 0 && output.tolerance->rtol == 0;
}

/// The largest magnitude that is finite.
double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (std::isfinite(tensor.at(i))) largest = std::max(largest, std::abs(tensor.at(i)));
  }
  return largest;
}

/// The stored outputs must agree with those of `truth`, or E would measure the file's error.
void require_agreement(const Tensor& stored, const Tensor& exact, const std::string& truth) {
  constexpr double rounding = 1e-8;  // of two ways to compute in float64, generously
  std::string how;
  try {
    const double difference = largest_error(exact, stored);
    if (difference <= rounding * largest_magnitude(stored)) return;
    how = "by " + short_number(difference);
  } catch (const std::runtime_error& error) {
    how = error.what();
  }
  throw std::runtime_error("the stored answer and that of " + truth + " in float64 differ: " + how);
}

/// Whether a tf32 tolerance can be derived: there is a float32 output, and a function to call.
bool has_tf32_products(const std::string& problem, const Case& info, Solution* textbook_tf32) {
  if (textbook_tf32 == nullptr) return false;
  if (std::ranges::find(info.outputs, DType::float32, &OutputInfo::dtype) == info.outputs.end()) {
    return false;
  }
  // If it cannot be loaded, the call reports that.
  return !textbook_tf32->load() || !textbook_tf32->function_for(problem).empty();
}

/// Whether y agrees with the expected e in NaN and infinities.
bool agree(double y, double e, DType dtype) {
  if (std::isnan(y) || std::isnan(e)) return std::isnan(y) && std::isnan(e);
  if (std::isfinite(y) && std::isfinite(e)) {
    return !std::isinf(round_to(dtype, e * (1 - 64 * epsilon(dtype))));  // far beyond: y must too
  }
  if (std::isinf(y) && std::isinf(e)) return (y > 0) == (e > 0);
  if (std::isinf(e)) return false;
  return (y > 0) == (e > 0) && std::isinf(round_to(dtype, e * (1 + 64 * epsilon(dtype))));
}

}  // namespace

double largest_error(const Tensor& actual, const Tensor& truth) {
  double largest = 0;
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    const double y = actual.at(i), e = truth.at(i);
    if (!agree(y, e, actual.dtype)) {
      throw std::runtime_error("element " + to_text(index_of(i, truth.shape)) + " is " +
                               short_number(y) + " and should be " + short_number(e));
    }
    if (std::isfinite(y) && std::isfinite(e)) largest = std::max(largest, std::abs(y - e));
  }
  return largest;
}

double root_mean_square(const Tensor& truth, DType dtype) {
  double sum = 0;
  std::int64_t count = 0;
  // Scaled by the largest, so that squares of 1e300 or 1e-300 neither overflow nor vanish.
  double scale = 0;
  const auto finite = [dtype](double e) { return std::isfinite(round_to(dtype, e)); };
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    if (finite(truth.at(i))) scale = std::max(scale, std::abs(truth.at(i)));
  }
  if (scale == 0) return 0;
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    if (!finite(truth.at(i))) continue;
    const double part = truth.at(i) / scale;
    sum += part * part;
    ++count;
  }
  return scale * std::sqrt(sum / static_cast<double>(count));
}

DerivedTolerance derive_tolerance(double error, double rms, DType dtype, int draws) {
  const double floor = 4 * spacing(dtype, rms);
  const bool by_error = 2 * error > floor;
  const std::string found = "E = " + short_number(error) +
                            ", the largest error of the textbook loop in " + std::to_string(draws) +
                            (draws == 1 ? " draw" : " draws");
  return {{by_error ? 2 * error : floor, 4 * epsilon(dtype)},
          found + (by_error ? "; atol = 2 E"
                            : "; atol = 4 ulp at rms " + short_number(rms) + ", more than 2 E")};
}

DerivedTolerance derive_tf32_tolerance(double error_tf32, double error, const Tolerance& ordinary) {
  if (error_tf32 <= error) return {ordinary, "tf32: no larger error, the same tolerance"};
  const bool by_error = 2 * error_tf32 > ordinary.atol;
  return {{by_error ? 2 * error_tf32 : ordinary.atol, 4 * 0x1p-10},
          "tf32: E = " + short_number(error_tf32) +
              (by_error ? ", atol = 2 E" : ", atol as without tf32, more than 2 E")};
}

std::vector<Tensor> exact_outputs(const std::string& problem, const Signature& signature,
                                  const std::vector<std::optional<Tensor>>& inputs,
                                  const std::vector<Scalar>& scalars, Solution& truth) {
  std::vector<std::optional<Tensor>> wide(inputs.size());
  std::vector<std::optional<TensorType>> types(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    wide[i] = is_floating(inputs[i]->dtype) ? widened(*inputs[i]) : *inputs[i];
    types[i] = TensorType{wide[i]->dtype, wide[i]->shape};
  }
  const Binding binding = harness::bind(signature, types);
  std::vector<Tensor> outputs =
      outputs_of(problem, signature, truth, wide, scalars, output_types(signature, binding));
  for (Tensor& output : outputs) {
    if (output.dtype != DType::float64) output = widened(output);
  }
  return outputs;
}

std::vector<NewTolerance> calibrate(const std::string& problem, const Signature& signature,
                                    const LoadedCase& stored, const Yardsticks& by, int redraws,
                                    std::uint64_t seed) {
  const Case& info = stored.info;
  if (info.error) return {};
  const bool perturb = std::ranges::none_of(info.outputs, is_exact);
  std::vector<TensorType> types;
  for (const OutputInfo& output : info.outputs) types.push_back({output.dtype, output.shape});
  const bool tf32 = has_tf32_products(problem, info, by.textbook_tf32);
  std::vector<double> errors(info.outputs.size(), 0), errors_tf32 = errors;

  const auto measure = [&](const auto& inputs, const auto& scalars, const auto& exact) {
    const auto raise = [&](std::vector<double>& largest, Solution& textbook) {
      const std::vector<Tensor> actual =
          outputs_of(problem, signature, textbook, inputs, scalars, types);
      for (std::size_t i = 0; i < largest.size(); ++i) {
        largest[i] = std::max(largest[i], largest_error(actual[i], exact[i]));
      }
    };
    raise(errors, by.textbook);
    if (tf32) raise(errors_tf32, *by.textbook_tf32);
  };
  int number = 0;
  try {
    const auto exact = exact_outputs(problem, signature, stored.inputs, info.scalars, by.truth);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      require_agreement(stored.expected[i], exact[i], by.truth.label());
    }
    measure(stored.inputs, info.scalars, stored.expected);
    for (number = 1; number <= redraws; ++number) {
      auto random = generator(seed, problem + "/" + info.name + "/" + std::to_string(number));
      const auto inputs = redraw(stored, signature, perturb, random);
      const auto scalars = perturb ? nudged(info.scalars, random) : info.scalars;
      measure(inputs, scalars, exact_outputs(problem, signature, inputs, info.scalars, by.truth));
    }
  } catch (const std::runtime_error& error) {
    const std::string where =
        number == 0 ? "the stored inputs" : "redraw " + std::to_string(number);
    throw std::runtime_error("case " + info.name + ", " + where + ": " + error.what());
  }

  std::vector<NewTolerance> tolerances;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const OutputInfo& output = info.outputs[i];
    DerivedTolerance derived{
        {0, 0},
        "exact: the textbook loop makes no error in " + std::to_string(redraws + 1) + " draws"};
    if (is_exact(output) && errors[i] > 0) {
      throw std::runtime_error("case " + info.name + ", output " + signature.outputs[i].name +
                               ": stored as exact, but the textbook loop errs by " +
                               short_number(errors[i]));
    }
    if (!is_exact(output)) {
      const double rms = root_mean_square(stored.expected[i], output.dtype);
      derived = derive_tolerance(errors[i], rms, output.dtype, redraws + 1);
    }
    NewTolerance found{info.name, signature.outputs[i].name, derived.tolerance, std::nullopt,
                       derived.reason};
    if (tf32 && output.dtype == DType::float32) {
      derived = derive_tf32_tolerance(errors_tf32[i], errors[i], found.tolerance);
      found.tolerance_tf32 = derived.tolerance;
      found.reason += "; " + derived.reason;
    }
    tolerances.push_back(std::move(found));
  }
  return tolerances;
}

}  // namespace prenorm::harness
