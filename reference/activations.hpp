// Activation functions, element by element.
//
//   relu   y = max(0, x)
//   silu   y = x sigmoid(x)
//   gelu   y = x Phi(x)
#pragma once

#include "tensor.hpp"

namespace prenorm::reference {

/// ReLU:  y = max(0, x); NaN stays NaN.
///
/// Source   Vaswani et al. 2017, arXiv:1706.03762, eq. 2
/// Shapes   x[...] -> y[...]
/// Types    any T, exact
/// Twins    cuda/activations.cu  fixtures/relu.h5  tests/reference/test_activations.cpp
///          notebooks/activations.ipynb
template <class T>
Tensor<T> relu(const Tensor<T>& x) {
  using C = compute_t<T>;
  const Tensor<C> a = widen(x);
  // Every comparison with NaN is false, so NaN is kept.
  // step: each element, maximum with 0
  return narrow<T>(xt::where(a < C(0), C(0), a));
}

/// SiLU, also called Swish:  y = x sigmoid(x) = x / (1 + exp(-x))
///
/// Source   Hendrycks & Gimpel 2016, arXiv:1606.08415; Elfwing et al. 2017, arXiv:1702.03118;
///          CS336 2025, eq. 5
/// Shapes   x[...] -> y[...]
/// Types    any T; 16-bit types are widened to float32 and rounded once, at the end
/// Twins    cuda/activations.cu  fixtures/silu.h5  tests/reference/test_activations.cpp
///          notebooks/activations.ipynb
template <class T>
Tensor<T> silu(const Tensor<T>& x) {
  using C = compute_t<T>;
  const Tensor<C> a = widen(x);
  // Where exp(-x) overflows, the quotient is 0, which y nearly is.
  // step: each element, x sigmoid(x)
  return narrow<T>(a / (C(1) + xt::exp(-a)));
}

/// GELU, the exact form:  y = x Phi(x) = x (1 + erf(x / sqrt(2))) / 2
///
/// Source   Hendrycks & Gimpel 2016, arXiv:1606.08415, section 2; CS336 2024, eq. 2
/// Shapes   x[...] -> y[...]
/// Types    any T; 16-bit types are widened to float32 and rounded once, at the end
/// Twins    cuda/activations.cu  fixtures/gelu.h5  tests/reference/test_activations.cpp
///          notebooks/activations.ipynb
template <class T>
Tensor<T> gelu(const Tensor<T>& x) {
  using C = compute_t<T>;
  const C root = std::sqrt(C(2));
  const Tensor<C> a = widen(x);
  // 1 + erf(z) is erfc(-z), which keeps its digits where erf(z) is nearly -1.
  const Tensor<C> phi = xt::erfc(-a / root) / C(2);  // step: Phi
  // step: each element, x Phi(x)
  return narrow<T>(a * phi);
}

}  // namespace prenorm::reference
