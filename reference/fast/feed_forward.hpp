// Position-wise feed-forward networks and the gated linear unit, without bias.
//
//   glu          y = sigmoid(x w1ᵀ) * (x w2ᵀ)
//   ffn_relu     y = relu(x w1ᵀ) w2ᵀ
//   ffn_silu     y = silu(x w1ᵀ) w2ᵀ
//   ffn_gelu     y = gelu(x w1ᵀ) w2ᵀ
//   ffn_swiglu   y = (silu(x w1ᵀ) * (x w3ᵀ)) w2ᵀ
//
// Contracts: reference/feed_forward.hpp
#pragma once

#include "activations.hpp"
#include "linear.hpp"

namespace prenorm::fast {

/// The product of two tensors of the same shape, element by element: the gate.
template <class T>
Tensor<T> times(const Tensor<T>& a, const Tensor<T>& b) {
  require_same_shape(a, b, "the factors of a gate");
  return map_elements(a, b, [](const auto& u, const auto& v) { return u * v; });
}

/// GLU, the gated linear unit:  y = sigmoid(x w1ᵀ) * (x w2ᵀ)
template <class T>
Tensor<T> glu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  require_same_shape(w1, w2, "glu: w1 and w2");
  // step: product with w1, activation
  const Tensor<T> gate = map_elements(linear(x, w1), [](const auto& a) {
    return compute_t<T>(1) / (compute_t<T>(1) + fast::exp(-a));
  });
  // step: product with w2, gate
  return times(gate, linear(x, w2));
}

/// Feed-forward with ReLU:  y = relu(x w1ᵀ) w2ᵀ
template <class T>
Tensor<T> ffn_relu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  // step: product with w1, activation, product with w2
  return linear(relu(linear(x, w1)), w2);
}

/// Feed-forward with SiLU and no gate:  y = silu(x w1ᵀ) w2ᵀ
template <class T>
Tensor<T> ffn_silu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  // step: product with w1, activation, product with w2
  return linear(silu(linear(x, w1)), w2);
}

/// Feed-forward with GELU, as in GPT-2:  y = gelu(x w1ᵀ) w2ᵀ
template <class T>
Tensor<T> ffn_gelu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  // step: product with w1, activation, product with w2
  return linear(gelu(linear(x, w1)), w2);
}

/// Feed-forward with SwiGLU:  y = (silu(x w1ᵀ) * (x w3ᵀ)) w2ᵀ
template <class T>
Tensor<T> ffn_swiglu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2,
                     const Tensor<T>& w3) {
  require_same_shape(w1, w3, "ffn_swiglu: w1 and w3");
  return linear(times(silu(linear(x, w1)),  // step: product with w1, activation
                      linear(x, w3)),       // step: product with w3, gate
                w2);                        // step: product with w2
}

}  // namespace prenorm::fast
