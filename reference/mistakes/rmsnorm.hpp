// Known mistakes of reference/rmsnorm.hpp.
#pragma once

#include "../rmsnorm.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::rmsnorm {

/// x times a factor that `factor` computes from the sum of each row's squares; then the gain.
template <class Sum, class Factor>
Wide scaled_rows(const Wide& x, const Wide& weight, Sum sum_of_squares, Factor factor) {
  const std::size_t d_model = weight.size();
  Wide y = x;
  for (std::size_t first = 0; first < x.size(); first += d_model) {
    double* a = y.data() + first;
    const double scale = factor(sum_of_squares(a, d_model));
    for (std::size_t i = 0; i < d_model; ++i) a[i] = a[i] * scale * weight.data()[i];
  }
  return y;
}
template <class Factor>
Wide scaled_rows(const Wide& x, const Wide& weight, Factor factor) {
  const auto sum = [](const double* a, std::size_t n) {
    return std::inner_product(a, a + n, a, 0.0);
  };
  return scaled_rows(x, weight, sum, factor);
}

/// 1 / sqrt(mean + eps), given the sum: the right factor.
inline auto right_factor(const Wide& weight, double eps) {
  const double d = static_cast<double>(weight.size());
  return [d, eps](double sum) { return 1 / std::sqrt(sum / d + eps); };
}

inline Wide no_eps(const Wide& x, const Wide& weight, double) {
  return scaled_rows(x, weight, right_factor(weight, 0));
}

inline Wide eps_outside_root(const Wide& x, const Wide& weight, double eps) {
  const double d = static_cast<double>(weight.size());
  return scaled_rows(x, weight, [&](double sum) { return 1 / (std::sqrt(sum / d) + eps); });
}

/// An eps of the author's own instead of the caller's.
inline Wide eps_fixed(const Wide& x, const Wide& weight, double) {
  return scaled_rows(x, weight, right_factor(weight, 1e-5));
}

inline Wide sum_for_mean(const Wide& x, const Wide& weight, double eps) {
  return scaled_rows(x, weight, [&](double sum) { return 1 / std::sqrt(sum + eps); });
}

inline Wide no_root(const Wide& x, const Wide& weight, double eps) {
  const double d = static_cast<double>(weight.size());
  return scaled_rows(x, weight, [&](double sum) { return 1 / (sum / d + eps); });
}

/// LayerNorm without its bias.
inline Wide mean_subtracted(const Wide& x, const Wide& weight, double eps) {
  const std::size_t d_model = weight.size();
  Tensor<double> centered = x;
  for (std::size_t row = 0; row * d_model < x.size(); ++row) {
    double* a = centered.data() + row * d_model;
    const double mean = std::accumulate(a, a + d_model, 0.0) / static_cast<double>(d_model);
    for (std::size_t i = 0; i < d_model; ++i) a[i] -= mean;
  }
  return reference::rmsnorm<double>(centered, weight, eps);
}

inline Wide no_gain(const Wide& x, const Wide& weight, double eps) {
  return reference::rmsnorm<double>(x, Tensor<double>(xt::ones_like(weight)), eps);
}

/// The gain stored as its difference from 1, as some models do.
inline Wide gain_one_plus_weight(const Wide& x, const Wide& weight, double eps) {
  return reference::rmsnorm<double>(x, Tensor<double>(1 + weight), eps);
}

/// The mean over the first axis instead of the last.
inline Wide wrong_axis(const Wide& x, const Wide& weight, double eps) {
  const std::size_t rows = x.shape(0), d_model = weight.size();
  Tensor<double> y = x;
  if (x.size() == 0) return y;
  const std::size_t columns = x.size() / rows;
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const double a = x.data()[row * columns + column];
      sum += a * a;
    }
    const double rms = std::sqrt(sum / static_cast<double>(rows) + eps);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t i = row * columns + column;
      y.data()[i] = x.data()[i] / rms * weight.data()[i % d_model];
    }
  }
  return y;
}

/// Squares in float16, where they overflow above 256. Other types hold their own squares.
inline Wide not_widened(const Element& t, const Wide& x, const Wide& weight, double eps) {
  if (!t.is<float16>()) throw not_implemented("a mistake in float16 only");
  const auto sum = [&](const double* a, std::size_t n) {
    return std::accumulate(a, a + n, 0.0, [&](double s, double v) { return s + t.round(v * v); });
  };
  return scaled_rows(x, weight, sum, right_factor(weight, eps));
}

/// x / rms rounded to T, and then multiplied by the gain, as Llama's code does.
inline Wide rounded_before_gain(const Element& t, const Wide& x, const Wide& weight, double eps) {
  t.require_16_bit();
  Wide y = no_gain(x, weight, eps);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y.data()[i] = t.round(y.data()[i]) * weight.data()[i % weight.size()];
  }
  return y;
}

/// 1 / rms rounded to T.
inline Wide root_in_t(const Element& t, const Wide& x, const Wide& weight, double eps) {
  t.require_16_bit();
  const auto factor = right_factor(weight, eps);
  return scaled_rows(x, weight, [&](double sum) { return t.round(factor(sum)); });
}

/// The sum of squares rounded to T at each step.
inline Wide sums_in_t(const Element& t, const Wide& x, const Wide& weight, double eps) {
  t.require_16_bit();
  const auto sum = [&](const double* a, std::size_t n) {
    return sum_in(t, n, [&](std::size_t i) { return a[i] * a[i]; });
  };
  return scaled_rows(x, weight, sum, right_factor(weight, eps));
}

/// An eps that is never below 1e-6.
inline Wide eps_at_least_1e_6(const Wide& x, const Wide& weight, double eps) {
  return reference::rmsnorm<double>(x, weight, std::max(eps, 1e-6));
}

/// `eps or 1e-5`: an eps of 0 taken for none given.
inline Wide eps_0_is_default(const Wide& x, const Wide& weight, double eps) {
  return reference::rmsnorm<double>(x, weight, eps == 0 ? 1e-5 : eps);
}

/// The larger of mean and eps instead of their sum.
inline Wide eps_as_floor(const Wide& x, const Wide& weight, double eps) {
  const double d = static_cast<double>(weight.size());
  return scaled_rows(x, weight, [&](double sum) { return 1 / std::sqrt(std::max(sum / d, eps)); });
}

/// One block per row, at most 1024 of them.
inline Wide first_1024_rows(const Wide& x, const Wide& weight, double eps) {
  return only_before(1024 * weight.size(), reference::rmsnorm<double>(x, weight, eps));
}

}  // namespace prenorm::mistakes::rmsnorm
