// Known mistakes of reference/linear.hpp.
#pragma once

#include "../linear.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::linear {

/// y = x W: the weight is stored [d_out, d_in], but read as [d_in, d_out].
inline Wide not_transposed(const Wide& x, const Wide& weight) {
  Tensor<double> read_as = weight;
  read_as.reshape({weight.shape(1), weight.shape(0)});
  return reference::linear<double>(x, Tensor<double>(xt::transpose(read_as)));
}

/// y = x Wᵀ with every partial sum rounded to T.
inline Wide sums_in_t(const Element& t, const Wide& x, const Wide& weight) {
  t.require_16_bit();
  auto shape = x.shape();
  const std::size_t d_in = weight.shape(1), d_out = weight.shape(0);
  const std::size_t rows = d_in == 0 ? 0 : x.size() / d_in;
  shape.back() = d_out;
  auto y = Tensor<double>::from_shape(shape);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t out = 0; out < d_out; ++out) {
      const double* a = x.data() + row * d_in;
      const double* w = weight.data() + out * d_in;
      y.data()[row * d_out + out] = sum_in(t, d_in, [&](std::size_t i) { return a[i] * w[i]; });
    }
  }
  return y;
}

}  // namespace prenorm::mistakes::linear
