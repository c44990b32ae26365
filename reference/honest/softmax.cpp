// Honest variants of softmax.
#include "exp2.hpp"

namespace prenorm::honest {

/// Calls row(slice, n) with a contiguous copy of each slice along dim, which it changes in place.
template <class C, class Row>
Tensor<C> each_slice(const Tensor<C>& x, std::int64_t dim, Row row) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  fast::require(dim >= -axes && dim < axes, "softmax: dim is no axis of x");
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  std::size_t inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  const std::size_t n = x.shape(axis);
  Tensor<C> y = x;
  std::vector<C> slice(n);
  for (std::size_t first = 0; first < x.size(); ++first) {
    if (first / inner % n != 0) continue;
    for (std::size_t j = 0; j < n; ++j) slice[j] = x.data()[first + j * inner];
    row(slice.data(), n);
    for (std::size_t j = 0; j < n; ++j) y.data()[first + j * inner] = slice[j];
  }
  return y;
}

template <class T>
Wide<T> softmax_exp2(const Wide<T>& x, std::int64_t dim) {
  using C = compute_t<T>;
  return each_slice<C>(x, dim, [](C* slice, std::size_t n) {
    // A slice of -inf only must give NaN, and NaN must not hide behind the maximum.
    const bool nan = std::any_of(slice, slice + n, [](C a) { return std::isnan(a); });
    const C maximum = *std::max_element(slice, slice + n);
    const C sum =
        nan || std::isinf(maximum) ? std::numeric_limits<C>::quiet_NaN() : exp2_row(slice, n, C(1));
    for (std::size_t j = 0; j < n; ++j) slice[j] /= sum;
  });
}

/// One pass for maximum and sum together, the sum rescaled whenever the maximum grows.
template <class T>
Wide<T> softmax_online(const Wide<T>& x, std::int64_t dim) {
  using C = compute_t<T>;
  constexpr C infinity = std::numeric_limits<C>::infinity();
  return each_slice<C>(x, dim, [](C* slice, std::size_t n) {
    C maximum = -infinity, sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const C a = slice[j];
      if (a > maximum) {
        sum = sum * std::exp(maximum - a) + std::exp(a - a);  // a - a: NaN for infinity
        maximum = a;
      } else if (a != -infinity) {
        sum += std::exp(a - maximum);
      }
    }
    for (std::size_t j = 0; j < n; ++j) slice[j] = std::exp(slice[j] - maximum) / sum;
  });
}

}  // namespace prenorm::honest

using namespace prenorm::honest;

EXPORT_VARIANT(softmax__exp2, softmax_exp2<T>)
EXPORT_VARIANT(softmax__online, softmax_online<T>)
