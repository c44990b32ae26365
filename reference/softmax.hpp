// Softmax along any axis.
#pragma once

#include "sums.hpp"

namespace prenorm::reference {

/// Softmax:  y_i = exp(x_i) / sum_j exp(x_j)  along the axis dim, the maximum subtracted first.
///
/// Source   CS336 2025, eq. 10; Goodfellow et al. 2016, Deep Learning, section 4.1 (the maximum)
/// Shapes   x[...]; dim, counted from the end where negative -> y[...]
/// Types    any T; 16-bit types are widened to float32 and rounded once, at the end
/// Errors   std::invalid_argument if dim is no axis of x, or its size is 0 and y is not empty
/// Values   a slice that is all -infinity, or holds NaN or +infinity, gives NaN
/// Twins    fixtures/softmax.h5  tests/test_softmax.cpp
template <class T>
Tensor<T> softmax(const Tensor<T>& x, std::int64_t dim) {
  using C = compute_t<T>;
  const auto axes = static_cast<std::int64_t>(x.dimension());
  require(dim >= -axes && dim < axes, "softmax: dim " + std::to_string(dim) +
                                          " is no axis of x, which is " + to_text(x.shape()));
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  const std::size_t n = x.shape(axis);
  if (x.size() == 0) return x;

  if (axis + 1 == x.dimension()) {
    return map_rows(x, n, [&](const auto& a, auto& y) {
      const C largest = maximum(a.data(), n);
      xt::noalias(y) = xt::exp(a - largest);
      y *= C(1) / total(y);
    });
  }

  // Another axis: the elements of a slice lie `inner` apart, so whole rows of `inner` elements are
  // taken together, element by element.
  std::size_t inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  const Tensor<C> wide = widen(x);
  auto y = empty<C>(shape_of(x));
  // Columns in parts that stay in the cache, each part of each block for itself.
  constexpr std::size_t part = 512;
  const std::size_t parts = (inner + part - 1) / part, blocks = x.size() / (n * inner);
  parallel_for(blocks * parts, x.size(), [&](std::size_t job) {
    const std::size_t column = job % parts * part, count = std::min(part, inner - column);
    const std::size_t first = job / parts * n * inner + column;
    const auto row = [&](auto& t, std::size_t i) { return row_view(t.data() + first + i * inner, count); };

    xt::xtensor<C, 1> largest = row(wide, 0), sums = xt::zeros<C>({count});
    for (std::size_t i = 1; i < n; ++i) largest = xt::maximum(largest, row(wide, i));
    for (std::size_t i = 0; i < n; ++i) {
      auto b = row(y, i);
      xt::noalias(b) = xt::exp(row(wide, i) - largest);
      sums += b;
    }
    sums = C(1) / sums;
    for (std::size_t i = 0; i < n; ++i) row(y, i) *= sums;
  });
  return narrow<T>(std::move(y));
}

}  // namespace prenorm::reference
