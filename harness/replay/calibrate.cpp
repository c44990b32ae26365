#include "replay/calibrate.hpp"

#include "base/text.hpp"
#include "replay/replay.hpp"

#include <algorithm>
#include <cmath>

namespace prenorm::harness {
namespace {

/// Of the spacings of float64 and float32.
constexpr double double_by_float = 0x1p-29;

/// Times the errors of the loop, and of its field forms, that other honest forms have together.
constexpr double beside_the_loop = 1.6, beside_the_field = 1.25;

/// The variant of the textbook loop that computes as PyTorch and published kernels do.
constexpr std::string_view field_forms = "__field";

bool has_16_bits(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// `dtype`, and float32 for a type of 16 bits.
DType at_least_float32(DType dtype) { return has_16_bits(dtype) ? DType::float32 : dtype; }

bool is_float64(DType dtype) { return dtype == DType::float64; }

/// Inputs of those types as float32, others as they are.
Inputs as_float32(Inputs inputs, bool (*those)(DType)) {
  for (auto& input : inputs) {
    if (input && those(input->dtype)) input = converted(*input, DType::float32);
  }
  return inputs;
}

std::vector<TensorType> as_float32(std::vector<TensorType> types, bool (*those)(DType)) {
  for (TensorType& type : types) {
    if (those(type.dtype)) type.dtype = DType::float32;
  }
  return types;
}

/// Whether `narrow` is `wide`, rounded, bit for bit but for the payload of NaN.
bool is_rounded(const Tensor& narrow, const Tensor& wide) {
  for (std::int64_t i = 0; i < narrow.size(); ++i) {
    const double y = narrow.at(i), rounded = round_to(narrow.dtype, wide.at(i));
    if (y != rounded && !(std::isnan(y) && std::isnan(rounded))) return false;
  }
  return true;
}

/// Whether float32 has such scalars: none becomes infinite or zero.
bool fit_float32(const std::vector<Scalar>& scalars) {
  return std::ranges::all_of(scalars, [](const Scalar& scalar) {
    const double* value = std::get_if<double>(&scalar);
    if (value == nullptr) return true;
    const double narrow = round_to(DType::float32, *value);
    return std::isinf(narrow) == std::isinf(*value) && (narrow == 0) == (*value == 0);
  });
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

/// Limits of two forms on all elements together: the larger one; none where a form has none.
void allow_both(Tolerance& tolerance, const Tolerance& other) {
  const auto widen = [](std::optional<double>& limit, const std::optional<double>& by) {
    limit = limit && by ? std::optional(std::max(*limit, *by)) : std::nullopt;
  };
  widen(tolerance.rms, other.rms);
  widen(tolerance.bias, other.bias);
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
  } catch (const NoAnswer& error) {
    how = error.what();
  }
  throw NoAnswer("the stored answer and that of " + truth + " in float64 differ: " + how);
}

/// Whether there is a tf32 loop for the problem.
bool has_tf32_loop(const std::string& problem, const Yardsticks& by) {
  if (by.textbook_tf32 == nullptr) return false;
  // If it cannot be loaded, the call reports that.
  return !by.textbook_tf32->load() || !by.textbook_tf32->function_for(problem).empty();
}

/// Whether the problem takes products of its inputs, or may: then the tf32 loop, which reads their
/// factors cut to 10 bits, gives other float32 outputs for values that have more.
bool takes_products(const std::string& problem, const Signature& signature,
                    const LoadedCase& stored, const Yardsticks& by, std::mt19937_64& random) {
  Inputs inputs = as_float32(stored.inputs, has_16_bits);
  for (auto& input : inputs) {
    if (!input || !is_floating(input->dtype)) continue;
    for (std::int64_t i = 0; i < input->size(); ++i) {
      const double step = static_cast<double>(random() >> 11) * 0x1p-53;  // [0, 1)
      input->set(i, input->at(i) * (1 - step * 0x1p-9));
    }
  }
  std::vector<TensorType> types;
  for (const OutputInfo& output : stored.info.outputs) {
    types.push_back({at_least_float32(output.dtype), output.shape});
  }
  const auto outputs = [&](Solution& solution) {
    return must_answer(problem, signature, solution, inputs, stored.info.scalars, types);
  };
  const std::vector<Tensor> ordinary = outputs(by.textbook), tf32 = outputs(*by.textbook_tf32);
  for (std::size_t i = 0; i < ordinary.size(); ++i) {
    if (!is_rounded(tf32[i], ordinary[i])) return true;
    if (largest_magnitude(ordinary[i]) == 0) return true;  // zeros show nothing
  }
  return false;
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

std::vector<std::string> forms_of(const std::string& problem, Solution& textbook) {
  std::vector<std::string> forms{problem};
  const std::string field = problem + std::string(field_forms);
  textbook.load();  // if it cannot be, the first call says so
  if (textbook.variant().empty() && textbook.functions().contains(field)) forms.push_back(field);
  return forms;
}

double largest_error(const Tensor& actual, const Tensor& truth) {
  double largest = 0;
  for (std::int64_t i = 0; i < truth.size(); ++i) {
    const double y = actual.at(i), e = truth.at(i);
    if (!agree(y, e, actual.dtype)) {
      throw NoAnswer("element " + to_text(index_of(i, truth.shape)) + " is " + short_number(y) +
                     " and should be " + short_number(e));
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
                            ", the largest error of the textbook loop in " +
                            counted(static_cast<std::size_t>(draws), "draw");
  return {{by_error ? 2 * error : floor, 4 * epsilon(dtype)},
          found + (by_error ? "; atol = 2 E"
                            : "; atol = 4 ulp at rms " + short_number(rms) + ", more than 2 E")};
}

DerivedTolerance derive_rounded_tolerance(double error, DType dtype, int draws) {
  return {{2 * error + spacing(dtype, 0) / 2, 0.75 * epsilon(dtype)},
          "rounded once: E = " + short_number(error) +
              ", the largest error of the textbook loop before rounding in " +
              counted(static_cast<std::size_t>(draws), "draw") +
              "; atol = 2 E + half the smallest spacing, rtol = 0.75 eps"};
}

bool allows_one_rounding(const Tolerance& tolerance, DType dtype) {
  return has_16_bits(dtype) && tolerance.rtol == 0.75 * epsilon(dtype);
}

DerivedTolerance derive_tf32_tolerance(double error_tf32, double error, const Tolerance& ordinary) {
  if (error_tf32 <= error) return {ordinary, "tf32: no larger error, the same tolerance"};
  const bool by_error = 2 * error_tf32 > ordinary.atol;
  return {{by_error ? 2 * error_tf32 : ordinary.atol, 4 * 0x1p-10},
          "tf32: E = " + short_number(error_tf32) +
              (by_error ? ", atol = 2 E" : ", atol as without tf32, more than 2 E")};
}

void derive_together(const std::vector<Tensor>& actual, const std::vector<Tensor>& exact,
                     double other_forms, Tolerance& tolerance) {
  constexpr std::int64_t enough = 256;
  constexpr std::size_t draws = 16;  // with fewer, their deviation says nothing
  // Margins: 8 standard deviations of 16 draws are one false alarm in a million; other honest forms
  // have up to 0.03 units more bias.
  constexpr double deviations = 8, other_bias = 0.05;
  if (actual.size() < draws || actual[0].size() < enough || tolerance.atol == 0) return;
  double sum = 0, sum_squared = 0, bias_squared = 0;
  for (std::size_t draw = 0; draw < actual.size(); ++draw) {
    const OutputReport report = compare("", actual[draw], exact[draw], tolerance);
    if (!report.rms || *report.rms == 0) return;
    const double logarithm = std::log(*report.rms);
    sum += logarithm;
    sum_squared += logarithm * logarithm;
    bias_squared += *report.bias * *report.bias;
  }
  const auto count = static_cast<double>(actual.size());
  const double mean = sum / count, variance = sum_squared / count - mean * mean;
  const double rms = other_forms * std::exp(mean + deviations * std::sqrt(std::max(variance, 0.0)));
  const double bias = other_bias + deviations * std::sqrt(bias_squared / count);
  if (rms < 1) tolerance.rms = rms;       // no element is beyond 1
  if (bias < 0.4) tolerance.bias = bias;  // so that results that are cut off, by 0.5, show
}

std::vector<NewTolerance> calibrate(const std::string& problem, const Signature& signature,
                                    const LoadedCase& stored, const Yardsticks& by, int redraws,
                                    std::uint64_t seed) {
  const Case& info = stored.info;
  if (info.error) return {};
  const bool perturb = std::ranges::none_of(info.outputs, is_exact);
  std::vector<TensorType> types;
  for (const OutputInfo& output : info.outputs) types.push_back({output.dtype, output.shape});
  const auto some = [&](auto property) {
    return std::ranges::any_of(types, property, &TensorType::dtype);
  };
  const bool tf32_loop = has_tf32_loop(problem, by);
  const bool tf32 =
      tf32_loop && by.tf32_tolerances && some([](DType dtype) { return dtype == DType::float32; });
  // Whether the 16-bit outputs are rounded once: true until a draw disproves it.
  bool rounded_once = tf32_loop && perturb && some(has_16_bits);
  const bool any_float64 = some(is_float64);
  // What is exact has no room for other forms.
  const std::vector<std::string> forms =
      perturb ? forms_of(problem, by.textbook) : std::vector{problem};
  std::vector<double> errors(info.outputs.size(), 0), errors_tf32 = errors, unrounded = errors,
                                                      in_proportion = errors;
  // Of each output in 16 bits, the truth for each draw, and what each form gave.
  std::vector<std::vector<Tensor>> true_ones(info.outputs.size());
  std::vector<std::vector<std::vector<Tensor>>> given(forms.size(), true_ones);

  // In float64 the truth errs as the loop does, and often in the same way, so that their difference
  // may be far below either's error: what the loop errs in float32 says more.
  const auto measure_in_proportion = [&](const auto& inputs, const auto& scalars) {
    const auto narrow = as_float32(inputs, is_float64);
    const auto ask = fit_float32(scalars) ? must_answer : answer_of;
    try {
      const auto exact = exact_outputs(problem, signature, narrow, scalars, by.redraws);
      for (const std::string& form : forms) {
        const auto actual =
            ask(form, signature, by.textbook, narrow, scalars, as_float32(types, is_float64));
        for (std::size_t i = 0; i < in_proportion.size(); ++i) {
          const double error = largest_error(actual[i], exact[i]);
          in_proportion[i] = std::max(in_proportion[i], error * double_by_float);
        }
      }
    } catch (const NoAnswer&) {
      // Values that float32 has not: the difference must do.
    }
  };

  const auto measure = [&](const auto& inputs, const auto& scalars, const auto& exact) {
    const auto raise = [&](std::vector<double>& largest, const std::vector<Tensor>& actual) {
      for (std::size_t i = 0; i < largest.size(); ++i) {
        largest[i] = std::max(largest[i], largest_error(actual[i], exact[i]));
      }
    };
    for (std::size_t form = 0; form < forms.size(); ++form) {
      const auto outputs = [&](const Inputs& of, const std::vector<TensorType>& as) {
        return must_answer(forms[form], signature, by.textbook, of, scalars, as);
      };
      std::vector<Tensor> actual = outputs(inputs, types);
      raise(errors, actual);
      if (rounded_once) {
        const std::vector<Tensor> wide =
            outputs(as_float32(inputs, has_16_bits), as_float32(types, has_16_bits));
        for (std::size_t i = 0; i < wide.size(); ++i) {
          rounded_once = rounded_once && is_rounded(actual[i], wide[i]);
        }
        if (rounded_once) raise(unrounded, wide);
      }
      for (std::size_t i = 0; i < actual.size(); ++i) {
        if (has_16_bits(types[i].dtype)) given[form][i].push_back(std::move(actual[i]));
      }
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (has_16_bits(types[i].dtype)) true_ones[i].push_back(exact[i]);
    }
    if (any_float64 && perturb) measure_in_proportion(inputs, scalars);
    if (tf32) {
      raise(errors_tf32,
            must_answer(problem, signature, *by.textbook_tf32, inputs, scalars, types));
    }
  };
  int number = 0;
  const auto where = [&] {
    return "case " + info.name + ", " +
           (number == 0 ? "the stored inputs" : "redraw " + std::to_string(number)) + ": ";
  };
  try {
    const auto exact = exact_outputs(problem, signature, stored.inputs, info.scalars, by.truth);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      require_agreement(stored.expected[i], exact[i], by.truth.label());
    }
    measure(stored.inputs, info.scalars, stored.expected);
    if (rounded_once) {
      auto random = generator(seed, problem + "/" + info.name + "/products");
      rounded_once = !takes_products(problem, signature, stored, by, random);
    }
    for (number = 1; number <= redraws; ++number) {
      auto random = generator(seed, problem + "/" + info.name + "/" + std::to_string(number));
      const auto inputs = redraw(stored, signature, perturb, random);
      const auto scalars = perturb ? nudged(info.scalars, random) : info.scalars;
      measure(inputs, scalars, exact_outputs(problem, signature, inputs, info.scalars, by.redraws));
    }
  } catch (const SolutionFailed& failure) {
    throw SolutionFailed(where() + failure.what());
  } catch (const std::runtime_error& error) {
    throw CaseError(where() + error.what());
  }

  std::vector<NewTolerance> tolerances;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const OutputInfo& output = info.outputs[i];
    DerivedTolerance derived{
        {0, 0},
        "exact: the textbook loop makes no error in " + std::to_string(redraws + 1) + " draws"};
    if (is_exact(output) && errors[i] > 0) {
      throw CaseError("case " + info.name + ", output " + signature.outputs[i].name +
                      ": stored as exact, but the textbook loop errs by " +
                      short_number(errors[i]));
    }
    if (rounded_once && has_16_bits(output.dtype)) {
      derived = derive_rounded_tolerance(unrounded[i], output.dtype, redraws + 1);
    } else if (!is_exact(output)) {
      const double rms = root_mean_square(stored.expected[i], output.dtype);
      const double error =
          is_float64(output.dtype) ? std::max(errors[i], in_proportion[i]) : errors[i];
      derived = derive_tolerance(error, rms, output.dtype, redraws + 1);
      if (error > errors[i]) derived.reason += "; in float32, times 2^-29";
    }
    Tolerance in_field_forms = derived.tolerance;
    derive_together(given[0][i], true_ones[i], beside_the_loop, derived.tolerance);
    if (forms.size() > 1) {
      derived.reason += "; the forms of PyTorch and kernels included";
      derive_together(given[1][i], true_ones[i], beside_the_field, in_field_forms);
      allow_both(derived.tolerance, in_field_forms);
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
