// Position-wise feed-forward networks and the gated linear unit, without bias.
//
//   glu          y = sigmoid(x w1ᵀ) * (x w2ᵀ)
//   ffn_relu     y = relu(x w1ᵀ) w2ᵀ
//   ffn_silu     y = silu(x w1ᵀ) w2ᵀ
//   ffn_gelu     y = gelu(x w1ᵀ) w2ᵀ
//   ffn_swiglu   y = (silu(x w1ᵀ) * (x w3ᵀ)) w2ᵀ
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
///
/// Source   Dauphin et al. 2017, arXiv:1612.08083; CS336 2025, eq. 6
/// Shapes   x[..., d_in], w1[d_ff, d_in], w2[d_ff, d_in] -> y[..., d_ff]
/// Types    any T; in 16-bit types both products, the gate and the result are rounded
/// Errors   as linear, and std::invalid_argument if w1 and w2 differ in shape
/// Twins    cuda/feed_forward.cu  fixtures/glu.h5  tests/reference/test_feed_forward.cpp
///          notebooks/feed_forward.ipynb
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
///
/// Source   Vaswani et al. 2017, arXiv:1706.03762, eq. 2, without biases
/// Shapes   x[..., d_model], w1[d_ff, d_model], w2[d_model, d_ff] -> y[..., d_model]
/// Types    any T; in 16-bit types each product and activation is rounded
/// Errors   as linear
/// Twins    cuda/feed_forward.cu  fixtures/ffn_relu.h5  tests/reference/test_feed_forward.cpp
///          notebooks/feed_forward.ipynb
template <class T>
Tensor<T> ffn_relu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  // step: product with w1, activation, product with w2
  return linear(relu(linear(x, w1)), w2);
}

/// Feed-forward with SiLU and no gate:  y = silu(x w1ᵀ) w2ᵀ
///
/// Source   CS336 2025, section 7.3 (the ablation of SwiGLU)
/// Shapes, types, errors   as ffn_relu
/// Twins    cuda/feed_forward.cu  fixtures/ffn_silu.h5  tests/reference/test_feed_forward.cpp
///          notebooks/feed_forward.ipynb
template <class T>
Tensor<T> ffn_silu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  // step: product with w1, activation, product with w2
  return linear(silu(linear(x, w1)), w2);
}

/// Feed-forward with GELU, as in GPT-2:  y = gelu(x w1ᵀ) w2ᵀ
///
/// Source   CS336 2024, eq. 3, whose W1 and W2 are our w1 and w2 transposed
/// Shapes, types, errors   as ffn_relu
/// Twins    cuda/feed_forward.cu  fixtures/ffn_gelu.h5  tests/reference/test_feed_forward.cpp
///          notebooks/feed_forward.ipynb
template <class T>
Tensor<T> ffn_gelu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  // step: product with w1, activation, product with w2
  return linear(gelu(linear(x, w1)), w2);
}

/// Feed-forward with SwiGLU:  y = (silu(x w1ᵀ) * (x w3ᵀ)) w2ᵀ
///
/// Source   Shazeer 2020, arXiv:2002.05202, eq. 6; CS336 2025, eq. 7
/// Shapes   x[..., d_model], w1[d_ff, d_model], w2[d_model, d_ff], w3[d_ff, d_model]
///          -> y[..., d_model]
/// Types    any T; in 16-bit types each product, the activation and the gated values are rounded
/// Errors   as linear, and std::invalid_argument if w1 and w3 differ in shape
/// Twins    cuda/feed_forward.cu  fixtures/ffn_swiglu.h5  tests/reference/test_feed_forward.cpp
///          notebooks/feed_forward.ipynb
template <class T>
Tensor<T> ffn_swiglu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2,
                     const Tensor<T>& w3) {
  require_same_shape(w1, w3, "ffn_swiglu: w1 and w3");
  return linear(times(silu(linear(x, w1)),  // step: product with w1, activation
                      linear(x, w3)),       // step: product with w3, gate
                w2);                        // step: product with w2
}

/// The width d_ff of a SwiGLU network: the multiple of 64 nearest to 8/3 d_model, at least 64.
///
/// Ties go up; 512 gives 1344. Source: CS336 2025, section 3.5.2.
inline std::int64_t swiglu_d_ff(std::int64_t d_model) {
  require(d_model > 0, "swiglu_d_ff: d_model must be positive, is ", d_model);
  // 8 d / 3 to the nearest 64: floor((8 d / 3 + 32) / 64), in integers.
  return std::max<std::int64_t>(64, (8 * d_model + 96) / 192 * 64);
}

}  // namespace prenorm::fast
