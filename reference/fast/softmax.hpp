// Softmax along any axis.
// Contracts: reference/softmax.hpp
#pragma once

#include "elementwise.hpp"
#include "sums.hpp"

namespace prenorm::fast {

/// Softmax along the first axis of x and y, [n, width] with rows `stride` apart: all columns side
/// by side, row by row.
template <class T>
void softmax_of_columns(const T* x, T* y, std::size_t n, std::size_t width, std::size_t stride) {
  using C = compute_t<T>;
  constexpr std::size_t together = 32;  // rows that are summed by themselves
  std::vector<C> powers(n * width), largest(width, -std::numeric_limits<C>::infinity());
  std::vector<C> sum(width), part(width);
  // step: maximum
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const C a = static_cast<C>(x[i * stride + j]);
      largest[j] = a > largest[j] ? a : largest[j];
    }
  }
  // step: exponentials
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      powers[i * width + j] = static_cast<C>(x[i * stride + j]) - largest[j];
    }
  }
  auto all = row_view(powers.data(), powers.size());
  xt::noalias(all) = fast::exp(all);
  // step: sum
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) part[j] += powers[i * width + j];
    if ((i + 1) % together == 0 || i + 1 == n) {
      for (std::size_t j = 0; j < width; ++j) sum[j] += part[j];
      std::ranges::fill(part, C(0));
    }
  }
  // step: normalize
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      y[i * stride + j] = static_cast<T>(powers[i * width + j] / sum[j]);
    }
  }
}

/// Softmax:  y_i = exp(x_i) / sum_j exp(x_j)  along the axis dim, the maximum subtracted first.
template <class T>
Tensor<T> softmax(const Tensor<T>& x, std::int64_t dim) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  require(dim >= -axes && dim < axes, "softmax: dim ", dim, " is no axis of x, which is ",
          x.shape());
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  if constexpr (!is_textbook) {
    if (distance_along(x, axis) >= 16) {  // else slices are contiguous or copied
      return map_columns(x, axis, [](auto... block) { softmax_of_columns(block...); });
    }
  }
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
