// Known mistakes of reference/activations.hpp.
#pragma once

#include "../fast/activations.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::activations {

/// An activation of one element.
using Function = double (*)(const Element& t, double x);
inline double sigmoid(const Element&, double x) { return 1 / (1 + std::exp(-x)); }
inline double right_relu(const Element&, double x) { return x < 0 ? 0 : x; }
inline double right_silu(const Element&, double x) { return x / (1 + std::exp(-x)); }
inline double right_gelu(const Element&, double x) {
  return x * ((1 + std::erf(x * 0.70710678118654752440)) * 0.5);
}

/// The steps of an activation; the defaults are right.
struct Steps : AnySteps {
  Function another = nullptr;  // instead of the problem's own
  std::size_t most_elements = std::numeric_limits<std::size_t>::max();

  bool operator==(const Steps&) const = default;
};

inline Wide each(const Steps& steps, const Element& t, const Wide& x, Function own) {
  Wide y = x;
  // step: each element
  for (double& value : y) value = (steps.another ? steps.another : own)(t, value);
  return only_before(steps.most_elements, std::move(y));
}

inline Wide relu(const Steps& steps, const Element& t, const Wide& x) {
  return each(steps, t, x, right_relu);
}
inline Wide silu(const Steps& steps, const Element& t, const Wide& x) {
  return each(steps, t, x, right_silu);
}
inline Wide gelu(const Steps& steps, const Element& t, const Wide& x) {
  return each(steps, t, x, right_gelu);
}

/// max(0, x) by a comparison that is false for NaN.
inline void nan_to_zero(Steps& steps) {
  steps.another = [](const Element&, double x) { return x > 0 ? x : 0; };
}

inline void sigmoid_only(Steps& steps) { steps.another = sigmoid; }

/// The sigmoid approximation of GELU: x sigmoid(1.702 x).
inline void sigmoid_form(Steps& steps) {
  steps.another = [](const Element& t, double x) { return x * sigmoid(t, 1.702 * x); };
}

/// x e^x / (1 + e^x): the exponential overflows in the compute type.
inline void exp_on_top(Steps& steps) {
  steps.another = [](const Element& t, double x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double e = x > (t.is<double>() ? infinity : 88.7) ? infinity : std::exp(x);
    return x * e / (1 + e);
  };
}

/// The sigmoid rounded to T before the product with x.
inline void sigmoid_in_t(Steps& steps, const Element& of_call) {
  require_16_bit(of_call);
  steps.another = [](const Element& t, double x) { return x * t.round(sigmoid(t, x)); };
}

/// 0 where e^-x is taken for infinite.
inline void zero_far_below(Steps& steps) {
  steps.another = [](const Element& t, double x) {
    return x < -12 && std::isfinite(x) ? 0 : x * sigmoid(t, x);
  };
}

/// The approximation by a hyperbolic tangent, as GPT-2 has it.
inline void tanh_form(Steps& steps) {
  steps.another = [](const Element&, double x) {
    constexpr double sqrt_2_over_pi = 0.79788456080286535588;
    return x / 2 * (1 + std::tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
  };
}

inline void no_half(Steps& steps) {
  steps.another = [](const Element&, double x) { return x * (1 + std::erf(x / std::sqrt(2.0))); };
}

inline void no_sqrt2(Steps& steps) {
  steps.another = [](const Element&, double x) { return x / 2 * (1 + std::erf(x)); };
}

/// NaN where an approximation of erf is used outside the range that it is made for.
inline void nan_far_below(Steps& steps) {
  steps.another = [](const Element& t, double x) {
    return x < -5.6 ? std::numeric_limits<double>::quiet_NaN() : right_gelu(t, x);
  };
}

/// x itself there.
inline void x_far_below(Steps& steps) {
  steps.another = [](const Element& t, double x) { return x < -5.6 ? x : right_gelu(t, x); };
}

/// Phi(x) rounded to T before the product with x.
inline void phi_in_t(Steps& steps, const Element& of_call) {
  require_16_bit(of_call);
  steps.another = [](const Element& t, double x) {
    return x * t.round(std::erfc(-x / std::sqrt(2.0)) / 2);
  };
}

/// One block of 1024 threads, whatever the size.
inline void one_block(Steps& steps) { steps.most_elements = 1024; }

}  // namespace prenorm::mistakes::activations
