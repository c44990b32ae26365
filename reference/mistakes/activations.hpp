// Known mistakes of reference/activations.hpp.
#pragma once

#include "../activations.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::activations {

template <class F>
Wide each(const Wide& x, F f) {
  Tensor<double> y = x;
  for (double& value : y) value = f(value);
  return y;
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// max(0, x) by a comparison that is false for NaN.
inline Wide relu_nan_to_zero(const Wide& x) {
  return each(x, [](double a) { return a > 0 ? a : 0; });
}

inline Wide silu_sigmoid_only(const Wide& x) { return each(x, sigmoid); }

/// The sigmoid approximation of GELU instead of SiLU.
inline Wide silu_1702(const Wide& x) {
  return each(x, [](double a) { return a * sigmoid(1.702 * a); });
}

/// x e^x / (1 + e^x): the exponential overflows in the compute type.
inline Wide silu_exp_on_top(const Element& t, const Wide& x) {
  const double largest = t.is<double>() ? std::numeric_limits<double>::infinity() : 88.7;
  return each(x, [&](double a) {
    const double e = a > largest ? std::numeric_limits<double>::infinity() : std::exp(a);
    return a * e / (1 + e);
  });
}

inline Wide gelu_tanh_form(const Wide& x) {
  constexpr double sqrt_2_over_pi = 0.79788456080286535588;
  return each(x, [](double a) {
    return a / 2 * (1 + std::tanh(sqrt_2_over_pi * (a + 0.044715 * a * a * a)));
  });
}

inline Wide gelu_sigmoid_form(const Wide& x) {
  return each(x, [](double a) { return a * sigmoid(1.702 * a); });
}

inline Wide gelu_no_half(const Wide& x) {
  return each(x, [](double a) { return a * (1 + std::erf(a / std::sqrt(2.0))); });
}

inline Wide gelu_no_sqrt2(const Wide& x) {
  return each(x, [](double a) { return a / 2 * (1 + std::erf(a)); });
}

/// NaN where an approximation of erf is used outside the range that it is made for.
inline Wide gelu_nan_far_below(const Wide& x) {
  const Tensor<double> y = reference::gelu<double>(x);
  return xt::where(x < -5.6, std::numeric_limits<double>::quiet_NaN(), y);
}

/// x itself there.
inline Wide gelu_x_far_below(const Wide& x) {
  const Tensor<double> y = reference::gelu<double>(x);
  return xt::where(x < -5.6, x, y);
}

/// The sigmoid rounded to T before the product with x.
inline Wide silu_sigmoid_in_t(const Element& t, const Wide& x) {
  t.require_16_bit();
  return each(x, [&](double a) { return a * t.round(sigmoid(a)); });
}

/// Phi(x) rounded to T before the product with x.
inline Wide gelu_phi_in_t(const Element& t, const Wide& x) {
  t.require_16_bit();
  return each(x, [&](double a) { return a * t.round(std::erfc(-a / std::sqrt(2.0)) / 2); });
}

/// One block of 1024 threads, whatever the size.
template <Tensor<double> (*function)(const Tensor<double>&)>
Wide one_block(const Wide& x) {
  return only_before(1024, function(x));
}

/// 0 where e^-x is taken for infinite.
inline double zero_below_minus_12(double x) {
  return x < -12 && std::isfinite(x) ? 0 : x * sigmoid(x);
}
inline Wide silu_zero_far_below(const Wide& x) { return each(x, zero_below_minus_12); }

}  // namespace prenorm::mistakes::activations
