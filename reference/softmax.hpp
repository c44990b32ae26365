// Softmax along any axis.
#pragma once

#include "tensor.hpp"

namespace prenorm::reference {

/// Softmax:  y_i = exp(x_i) / sum_j exp(x_j)  along the axis dim, the maximum subtracted first.
///
/// Source   CS336 2025, eq. 10; Goodfellow et al. 2016, Deep Learning, section 4.1 (the maximum)
/// Shapes   x[...]; dim, counted from the end where negative -> y[...]
/// Types    any T; 16-bit types are widened to float32 and rounded once, at the end
/// Errors   std::invalid_argument if dim is not an axis of x
/// Values   a slice that is all -infinity, or holds NaN or +infinity, gives NaN
/// Twins    cuda/softmax.cu  fixtures/softmax.h5  tests/reference/test_softmax.cpp
///          notebooks/softmax.ipynb
template <class T>
Tensor<T> softmax(const Tensor<T>& x, std::int64_t dim) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  require(dim >= -axes && dim < axes, "softmax: dim ", dim, " is no axis of x, which is ",
          x.shape());
  if (x.size() == 0) return x;

  using C = compute_t<T>;
  const Tensor<C> a = widen(x);
  // step: maximum
  const Tensor<C> largest = xt::amax(a, {dim}, xt::keep_dims);
  // step: exponentials
  const Tensor<C> e = xt::exp(a - largest);
  // step: sum, normalize
  const Tensor<C> sum = xt::sum(e, {dim}, xt::keep_dims);
  return narrow<T>(e / sum);
}

}  // namespace prenorm::reference
