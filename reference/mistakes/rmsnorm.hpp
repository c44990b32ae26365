// Known mistakes of reference/rmsnorm.hpp.
#pragma once

#include "../fast/rmsnorm.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::rmsnorm {

/// A value made of the caller's: of eps, or of a weight.
using Value = double (*)(double given);
inline double as_given(double given) { return given; }

/// What eps is added to; or to nothing, for it is a lower bound of the mean.
enum class EpsAddedTo { mean, sum, root, x, lower_bound };

/// The steps of RMSNorm; the defaults are right.
struct Steps : AnySteps {
  bool last_axis = true;  // or else the first
  bool all_axes = false;
  bool centred = false;  // the mean is subtracted
  bool squares = true;   // or else absolute values
  bool divides = true;   // the sum by the number of its terms
  std::size_t terms_not_counted = 0;
  bool root = true;
  bool multiplies = false;  // by the root, and does not divide
  std::size_t times = 1;    // that all of it is done
  Value eps = as_given;
  EpsAddedTo eps_added_to = EpsAddedTo::mean;
  Value gain = as_given;
  bool gain_first = false;                                                // and not at the end
  bool rounds_squares = false, rounds_sums = false, rounds_root = false;  // to T
  bool rounds_before_gain = false;
  std::optional<std::size_t> most_rows = std::nullopt;

  bool operator==(const Steps&) const = default;
};

/// Normalizes n elements, stride apart: what is left is the gain.
inline void normalize(const Steps& steps, const Element& t, double given_eps, double* a,
                      std::size_t n, std::size_t stride) {
  // step: mean of squares
  if (steps.centred) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i * stride];
    for (std::size_t i = 0; i < n; ++i) a[i * stride] -= sum / static_cast<double>(n);
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double value = a[i * stride];
    double term = steps.squares ? value * value : std::abs(value);
    if (steps.rounds_squares) term = t.round(term);
    sum = steps.rounds_sums ? t.round(sum + term) : sum + term;
  }
  const double eps = steps.eps(given_eps);
  if (steps.eps_added_to == EpsAddedTo::sum) sum += eps;
  double size = steps.divides ? sum / static_cast<double>(n - steps.terms_not_counted) : sum;
  if (steps.eps_added_to == EpsAddedTo::mean) size += eps;
  if (steps.eps_added_to == EpsAddedTo::lower_bound) size = std::max(size, eps);
  // step: root
  if (steps.root) size = std::sqrt(size);
  if (steps.eps_added_to == EpsAddedTo::root) size += eps;
  // step: normalize
  if (steps.multiplies) size = 1 / size;
  for (std::size_t i = 0; i < n; ++i) {
    double& value = a[i * stride];
    if (steps.eps_added_to == EpsAddedTo::x) value += eps;
    value = steps.rounds_root ? value * t.round(1 / size) : value / size;
    if (steps.rounds_before_gain) value = t.round(value);
  }
}

inline Wide rmsnorm(const Steps& steps, const Element& t, const Wide& x, const Wide& weight,
                    double eps) {
  const std::size_t d_model = weight.size();
  fast::require(x.dimension() >= 1 && weight.dimension() == 1 && x.shape().back() == d_model,
                "rmsnorm: weight must be [d_model], and x [..., d_model]");
  Wide y = x;
  if (x.size() == 0) return y;
  // step: gain
  const auto multiply_by_gain = [&] {
    for (std::size_t first = 0; first < y.size(); first += d_model) {
      double* a = y.data() + first;
      for (std::size_t i = 0; i < d_model; ++i) a[i] *= steps.gain(weight.data()[i]);
    }
  };
  // step: mean of squares, root, normalize
  const bool contiguous = steps.last_axis || steps.all_axes;
  const std::size_t n = steps.all_axes ? x.size() : steps.last_axis ? d_model : x.shape(0);
  const std::size_t groups = x.size() / n;
  for (std::size_t time = 0; time < steps.times; ++time) {
    if (steps.gain_first) multiply_by_gain();  // step: gain
    for (std::size_t i = 0; i < groups; ++i) {
      normalize(steps, t, eps, y.data() + (contiguous ? i * n : i), n, contiguous ? 1 : groups);
    }
    if (!steps.gain_first) multiply_by_gain();  // step: gain
  }
  return steps.most_rows ? only_before(*steps.most_rows * d_model, std::move(y)) : y;
}

inline void no_eps(Steps& steps) {
  steps.eps = [](double) { return 0.0; };
}

/// An eps of the author's own instead of the caller's.
inline void eps_fixed(Steps& steps) {
  steps.eps = [](double) { return 1e-5; };
}

/// The eps of Llama 1 and of many models since, whatever the caller says.
inline void eps_fixed_at_1e_6(Steps& steps) {
  steps.eps = [](double) { return 1e-6; };
}

/// An eps that is never below 1e-6.
inline void eps_at_least_1e_6(Steps& steps) {
  steps.eps = [](double eps) { return std::max(eps, 1e-6); };
}

/// `eps or 1e-5`: an eps of 0 taken for none given.
inline void eps_0_is_default(Steps& steps) {
  steps.eps = [](double eps) { return eps == 0 ? 1e-5 : eps; };
}

/// x / (sqrt(mean) + eps).
inline void eps_outside_root(Steps& steps) { steps.eps_added_to = EpsAddedTo::root; }

/// The mean is (sum + eps) / d.
inline void eps_inside_sum(Steps& steps) { steps.eps_added_to = EpsAddedTo::sum; }

/// (x + eps) / sqrt(mean).
inline void eps_added_to_x_over_rms(Steps& steps) { steps.eps_added_to = EpsAddedTo::x; }

/// The larger of mean and eps instead of their sum.
inline void eps_as_floor(Steps& steps) { steps.eps_added_to = EpsAddedTo::lower_bound; }

inline void sum_for_mean(Steps& steps) { steps.divides = false; }

/// The mean over d - 1, as in the unbiased variance.
inline void divided_by_variance_unbiased(Steps& steps) { steps.terms_not_counted = 1; }

inline void no_root(Steps& steps) { steps.root = false; }

/// x * rms.
inline void multiplied_by_rms(Steps& steps) { steps.multiplies = true; }

/// rmsnorm(rmsnorm(x)), as where a block and its attention both call the norm.
inline void norm_applied_twice(Steps& steps) { steps.times = 2; }

/// x / (mean |x| + eps).
inline void mean_of_absolutes(Steps& steps) { steps.squares = steps.root = false; }

/// LayerNorm without its bias.
inline void mean_subtracted(Steps& steps) { steps.centred = true; }

inline void no_gain(Steps& steps) {
  steps.gain = [](double) { return 1.0; };
}

/// The gain stored as its difference from 1, as some models do.
inline void gain_one_plus_weight(Steps& steps) {
  steps.gain = [](double weight) { return 1 + weight; };
}

/// The gain times x, and then normalized.
inline void gain_before_mean(Steps& steps) { steps.gain_first = true; }

/// The mean over the first axis instead of the last.
inline void wrong_axis(Steps& steps) { steps.last_axis = false; }

/// One mean over the whole tensor: the axis is left out.
inline void mean_over_all(Steps& steps) { steps.all_axes = true; }

/// Squares in float16, where they overflow above 256. Other types hold their own squares.
inline void not_widened(Steps& steps, const Element& t) {
  require_shown(t.is<float16>());
  steps.rounds_squares = true;
}

/// x / rms rounded to T, and then multiplied by the gain, as Llama's code does.
inline void rounded_before_gain(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_before_gain = true;
}

/// 1 / rms rounded to T.
inline void root_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_root = true;
}

/// The sum of squares rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_sums = true;
}

/// One block per row, at most 1024 of them.
inline void first_1024_rows(Steps& steps) { steps.most_rows = 1024; }

}  // namespace prenorm::mistakes::rmsnorm
