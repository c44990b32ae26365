// Linear layer without bias.
#pragma once

#include "sums.hpp"

namespace prenorm::fast {

/// Linear:  y = x Wᵀ
///
/// Source   CS336 2025, section 3.4.2: row vectors, no bias, after PaLM (arXiv:2204.02311)
/// Shapes   x[..., d_in], weight[d_out, d_in] -> y[..., d_out]
/// Types    any T; sums in float32 for 16-bit types, rounded once, at the end
/// Errors   std::invalid_argument if weight is not [d_out, d_in] for the d_in of x, or d_in is 0
/// Twins    cuda/linear.cu  fixtures/linear.h5  tests/reference/test_linear.cpp
///          notebooks/linear.ipynb
template <class T>
Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight) {
  require(weight.dimension() == 2, "linear: weight must be [d_out, d_in], is ", weight.shape());
  require(x.dimension() >= 1, "linear: x must have an axis d_in");
  const std::size_t d_out = weight.shape(0), d_in = weight.shape(1);
  require(x.shape().back() == d_in, "linear: x must be [..., ", d_in, "], is ", x.shape());
  using C = compute_t<T>;
  auto y = empty<C>(with_last(shape_of(x), d_out));
  require(d_in > 0 || y.size() == 0, "linear: d_in is 0, there is nothing to sum over");
  if (y.size() == 0) return narrow<T>(y);

  // step: widen
  const Tensor<C>&a = widen(x), &w = widen(weight);
  const std::size_t rows = y.size() / d_out;
  // step: sum of products
  multiply_transposed<C>({a.data(), rows, d_in, d_in}, {w.data(), d_out, d_in, d_in},
                         {y.data(), rows, d_out, d_out});
  // step: round once
  return narrow<T>(std::move(y));
}

}  // namespace prenorm::fast
