// Known mistakes of reference/feed_forward.hpp.
#pragma once

#include "../feed_forward.hpp"
#include "activations.hpp"
#include "linear.hpp"

namespace prenorm::mistakes::feed_forward {

using activations::each;
using activations::gelu_nan_far_below;
using activations::gelu_x_far_below;
using activations::sigmoid;
using activations::silu_exp_on_top;

inline Tensor<double> product(const Tensor<double>& x, const Tensor<double>& weight) {
  return reference::linear<double>(x, weight);
}
inline Tensor<double> sigmoids(const Tensor<double>& x) { return each(x, sigmoid); }
inline Tensor<double> relu(const Tensor<double>& x) { return reference::relu<double>(x); }
inline Tensor<double> silu(const Tensor<double>& x) { return reference::silu<double>(x); }
inline Tensor<double> gelu(const Tensor<double>& x) { return reference::gelu<double>(x); }

// glu: sigmoid(x w1ᵀ) * (x w2ᵀ)

inline Wide glu_exchanged(const Wide& x, const Wide& w1, const Wide& w2) {
  return reference::glu<double>(x, w2, w1);
}
inline Wide glu_silu_gate(const Wide& x, const Wide& w1, const Wide& w2) {
  return silu(product(x, w1)) * product(x, w2);
}
inline Wide glu_relu_gate(const Wide& x, const Wide& w1, const Wide& w2) {
  return relu(product(x, w1)) * product(x, w2);
}
inline Wide glu_gate_left_out(const Wide& x, const Wide&, const Wide& w2) { return product(x, w2); }
inline Wide glu_sum_for_product(const Wide& x, const Wide& w1, const Wide& w2) {
  return sigmoids(product(x, w1)) + product(x, w2);
}
inline Wide glu_sums_in_t(const Element& t, const Wide& x, const Wide& w1, const Wide& w2) {
  return sigmoids(linear::sums_in_t(t, x, w1)) * linear::sums_in_t(t, x, w2);
}

// ffn_relu, ffn_silu, ffn_gelu: activation(x w1ᵀ) w2ᵀ

using Activation = Tensor<double> (*)(const Tensor<double>&);

template <Activation another>
Wide ffn_another_activation(const Wide& x, const Wide& w1, const Wide& w2) {
  return product(another(product(x, w1)), w2);
}
template <Activation activation>
Wide ffn_activation_after_w2(const Wide& x, const Wide& w1, const Wide& w2) {
  return activation(product(product(x, w1), w2));
}
template <Activation activation>
Wide ffn_sums_in_t(const Element& t, const Wide& x, const Wide& w1, const Wide& w2) {
  return linear::sums_in_t(t, activation(linear::sums_in_t(t, x, w1)), w2);
}

// ffn_swiglu: (silu(x w1ᵀ) * (x w3ᵀ)) w2ᵀ

inline Wide swiglu_exchanged(const Wide& x, const Wide& w1, const Wide& w2, const Wide& w3) {
  return reference::ffn_swiglu<double>(x, w3, w2, w1);
}
inline Wide swiglu_sigmoid_gate(const Wide& x, const Wide& w1, const Wide& w2, const Wide& w3) {
  return product(sigmoids(product(x, w1)) * product(x, w3), w2);
}
inline Wide swiglu_relu_gate(const Wide& x, const Wide& w1, const Wide& w2, const Wide& w3) {
  return product(relu(product(x, w1)) * product(x, w3), w2);
}
inline Wide swiglu_gate_left_out(const Wide& x, const Wide& w1, const Wide& w2, const Wide&) {
  return product(silu(product(x, w1)), w2);
}
inline Wide swiglu_sum_for_product(const Wide& x, const Wide& w1, const Wide& w2, const Wide& w3) {
  return product(silu(product(x, w1)) + product(x, w3), w2);
}
inline Wide swiglu_sums_in_t(const Element& t, const Wide& x, const Wide& w1, const Wide& w2,
                             const Wide& w3) {
  const Tensor<double> gated = silu(linear::sums_in_t(t, x, w1)) * linear::sums_in_t(t, x, w3);
  return linear::sums_in_t(t, gated, w2);
}

// Activations that go wrong where a hidden value is large: the tests of silu and gelu do not see
// those of a fused network.

inline Wide ffn_silu_exp_on_top(const Element& t, const Wide& x, const Wide& w1, const Wide& w2) {
  return product(silu_exp_on_top(t, product(x, w1)), w2);
}
inline Wide swiglu_exp_on_top(const Element& t, const Wide& x, const Wide& w1, const Wide& w2,
                              const Wide& w3) {
  return product(silu_exp_on_top(t, product(x, w1)) * product(x, w3), w2);
}
inline Wide swiglu_silu_of_product(const Wide& x, const Wide& w1, const Wide& w2, const Wide& w3) {
  return product(silu(product(x, w1) * product(x, w3)), w2);
}
inline Tensor<double> clipped_at_6(const Tensor<double>& x) {
  return each(x, [](double a) { return a < 0 ? 0 : a > 6 ? 6 : a; });
}
inline Tensor<double> leaky(const Tensor<double>& x) {
  return each(x, [](double a) { return a < 0 ? a / 100 : a; });
}
/// The sigmoid of what is cut to [-6, 6].
inline Wide glu_gate_clipped(const Wide& x, const Wide& w1, const Wide& w2) {
  const Tensor<double> gate = each(product(x, w1), [](double a) {
    return std::isnan(a) ? a : sigmoid(std::clamp(a, -6.0, 6.0));
  });
  return gate * product(x, w2);
}

/// The second product with sums of 64 terms added up in T.
template <Activation activation>
Wide ffn_tiles_added_in_t(const Element& t, const Wide& x, const Wide& w1, const Wide& w2) {
  return linear::tiles_added_in_t(t, activation(product(x, w1)), w2);
}
inline Wide swiglu_tiles_added_in_t(const Element& t, const Wide& x, const Wide& w1, const Wide& w2,
                                    const Wide& w3) {
  return linear::tiles_added_in_t(t, silu(product(x, w1)) * product(x, w3), w2);
}

}  // namespace prenorm::mistakes::feed_forward
