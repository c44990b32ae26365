// Root mean square layer normalization.
#pragma once

#include "tensor.hpp"

namespace prenorm::reference {

/// RMSNorm:  y = x / sqrt(mean(x^2) + eps) * weight, the mean over the last axis.
///
/// Source   Zhang & Sennrich 2019, arXiv:1910.07467, eq. 4; the eps of CS336 2025, eq. 4
/// Shapes   x[..., d_model], weight[d_model] -> y[..., d_model]
/// Types    any T; 16-bit types are widened to float32 and rounded once, at the end. float64 stays
///          float64; the handout's code, which calls x.to(torch.float32), would narrow it
/// Errors   std::invalid_argument if x has no axis, or weight is not [d_model]
/// Values   squares overflow, and y is 0, from |x| = 1.8e19 on (1.3e154 in float64), as in the
///          handout's formula. With eps = 0 they underflow, and y is infinite, where |x| < 1e-23
///          (1e-162), and 0 gives NaN
/// Twins    cuda/rmsnorm.cu  fixtures/rmsnorm.h5  tests/reference/test_rmsnorm.cpp
///          notebooks/rmsnorm.ipynb
template <class T>
Tensor<T> rmsnorm(const Tensor<T>& x, const Tensor<T>& weight, double eps = 1e-5) {
  require(x.dimension() >= 1, "rmsnorm: x must have an axis d_model");
  const std::size_t d_model = x.shape().back();
  require(weight.dimension() == 1 && weight.shape(0) == d_model, "rmsnorm: weight must be [",
          d_model, "], is ", weight.shape());
  if (x.size() == 0) return x;

  using C = compute_t<T>;
  const Tensor<C> a = widen(x), gain = widen(weight);
  // step: mean of squares, root
  const Tensor<C> rms = xt::sqrt(xt::mean(xt::square(a), {-1}, xt::keep_dims) + eps);
  // step: normalize, gain
  return narrow<T>(a / rms * gain);
}

}  // namespace prenorm::reference
