// Linear layer without bias.
// Contracts: reference/linear.hpp
#pragma once

#include "sums.hpp"

namespace prenorm::fast {

/// Linear:  y = x Wᵀ
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
