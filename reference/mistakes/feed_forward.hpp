// Known mistakes of reference/feed_forward.hpp.
#pragma once

#include "../fast/feed_forward.hpp"
#include "activations.hpp"
#include "linear.hpp"

namespace prenorm::mistakes::feed_forward {

/// How an activated value and its gate become one.
using Gate = double (*)(double activated, double other);
inline double multiplied(double activated, double other) { return activated * other; }

/// The steps of a network, with those of its activation; the defaults are right.
struct Steps : activations::Steps {
  linear::Steps inner, outer;  // the products with w1 and w3, and that with w2
  bool exchanges_inner = false, takes_first_twice = false;
  bool activates_last = false;  // what is gated; without a gate, what w2 gives
  Gate gate = multiplied;

  bool operator==(const Steps&) const = default;
};

/// activation(x w1ᵀ) gated by x w3ᵀ.
inline Wide gated(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                  const Wide& w3, activations::Function own) {
  // step: product with w1
  Wide y = linear::linear(steps.inner, t, x, steps.exchanges_inner ? w3 : w1);
  // step: product with w3
  const bool first = steps.exchanges_inner || steps.takes_first_twice;
  const Wide other = linear::linear(steps.inner, t, x, first ? w1 : w3);
  // step: activation
  if (!steps.activates_last) y = activations::each(steps, t, y, own);
  // step: gate
  std::transform(y.begin(), y.end(), other.begin(), y.begin(), steps.gate);
  // step: activation
  return steps.activates_last ? activations::each(steps, t, y, own) : y;
}

/// activation(x w1ᵀ) w2ᵀ.
inline Wide ungated(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                    const Wide& w2, activations::Function own) {
  // step: product with w1
  Wide hidden = linear::linear(steps.inner, t, x, w1);
  // step: activation
  if (!steps.activates_last) hidden = activations::each(steps, t, hidden, own);
  // step: product with w2
  const Wide y = linear::linear(steps.outer, t, hidden, w2);
  // step: activation
  return steps.activates_last ? activations::each(steps, t, y, own) : y;
}

inline Wide glu(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                const Wide& w2) {
  fast::require_same_shape(w1, w2, "glu: w1 and w2");
  return gated(steps, t, x, w1, w2, activations::sigmoid);
}
inline Wide ffn_relu(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                     const Wide& w2) {
  return ungated(steps, t, x, w1, w2, activations::right_relu);
}
inline Wide ffn_silu(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                     const Wide& w2) {
  return ungated(steps, t, x, w1, w2, activations::right_silu);
}
inline Wide ffn_gelu(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                     const Wide& w2) {
  return ungated(steps, t, x, w1, w2, activations::right_gelu);
}
inline Wide ffn_swiglu(const Steps& steps, const Element& t, const Wide& x, const Wide& w1,
                       const Wide& w2, const Wide& w3) {
  fast::require_same_shape(w1, w3, "ffn_swiglu: w1 and w3");
  // step: product with w2
  return linear::linear(steps.outer, t, gated(steps, t, x, w1, w3, activations::right_silu), w2);
}

/// The two weights that take x, each in the other's place.
inline void exchanged(Steps& steps) { steps.exchanges_inner = true; }

inline void sum_for_product(Steps& steps) {
  steps.gate = [](double activated, double other) { return activated + other; };
}

/// w1 where w3 belongs as well.
inline void first_weight_twice(Steps& steps) { steps.takes_first_twice = true; }

/// Nothing is gated: what is activated is all that there is.
inline void gate_left_out(Steps& steps) {
  steps.gate = [](double activated, double) { return activated; };
}

/// GLU without its gate: x w2ᵀ is all that there is.
inline void sigmoid_left_out(Steps& steps) {
  steps.gate = [](double, double other) { return other; };
}

/// The activation of the product, and not of one factor.
inline void silu_of_product(Steps& steps) { steps.activates_last = true; }

/// activation(x w1ᵀ w2ᵀ).
inline void activation_after_w2(Steps& steps) { steps.activates_last = true; }

inline void no_activation(Steps& steps) {
  steps.another = [](const Element&, double x) { return x; };
}
inline void sigmoid_gate(Steps& steps) { steps.another = activations::sigmoid; }
inline void silu_gate(Steps& steps) { steps.another = activations::right_silu; }
inline void gelu_gate(Steps& steps) { steps.another = activations::right_gelu; }
inline void relu_gate(Steps& steps) { steps.another = activations::right_relu; }
inline void relu_instead(Steps& steps) { steps.another = activations::right_relu; }
inline void silu_instead(Steps& steps) { steps.another = activations::right_silu; }
inline void gelu_instead(Steps& steps) { steps.another = activations::right_gelu; }

inline void clipped_at_6(Steps& steps) {
  steps.another = [](const Element&, double x) { return x < 0 ? 0 : x > 6 ? 6 : x; };
}
inline void leaky(Steps& steps) {
  steps.another = [](const Element&, double x) { return x < 0 ? x / 100 : x; };
}

/// The sigmoid of what is cut to [-6, 6].
inline void gate_clipped(Steps& steps) {
  steps.another = [](const Element& t, double x) {
    return std::isnan(x) ? x : activations::sigmoid(t, std::clamp(x, -6.0, 6.0));
  };
}

/// Every sum rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  linear::sums_in_t(steps.inner, t);
  linear::sums_in_t(steps.outer, t);
}

/// The second product with sums of 64 terms added up in T.
inline void tiles_added_in_t(Steps& steps, const Element& t) {
  linear::tiles_added_in_t(steps.outer, t);
}

}  // namespace prenorm::mistakes::feed_forward
