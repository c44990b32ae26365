// Softmax along any axis.
// Contracts: reference/softmax.hpp
#pragma once

#include "elementwise.hpp"
#include "sums.hpp"

namespace prenorm::fast {

/// Softmax:  y_i = exp(x_i) / sum_j exp(x_j)  along the axis dim, the maximum subtracted first.
template <class T>
Tensor<T> softmax(const Tensor<T>& x, std::int64_t dim) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  require(dim >= -axes && dim < axes, "softmax: dim ", dim, " is no axis of x, which is ",
          x.shape());
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  // Along other axes than the last, PyTorch keeps the exponentials in the type itself: tolerances
  // allow for it.
  const bool in_t = is_textbook && sizeof(T) == 2 && axis + 1 < x.dimension();
  return map_slices(x, axis, [in_t](const auto& a, auto& y) {
    // step: maximum
    const auto largest = maximum(a);
    // step: exponentials
    xt::noalias(y) = fast::exp(a - largest);
    // step: sum, normalize
    const auto sum = total(y);
    if (in_t) std::ranges::for_each(y, [](auto& e) { e = static_cast<float>(static_cast<T>(e)); });
    y /= sum;
  });
}

}  // namespace prenorm::fast
