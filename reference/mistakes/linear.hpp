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

/// y = x Wᵀ by the caller's own product of two rows of d_in numbers.
template <class Dot>
Wide by_rows(const Wide& x, const Wide& weight, Dot dot) {
  auto shape = x.shape();
  const std::size_t d_in = weight.shape(1), d_out = weight.shape(0);
  shape.back() = d_out;
  auto y = Tensor<double>::from_shape(shape);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y.data()[i] = dot(x.data() + i / d_out * d_in, weight.data() + i % d_out * d_in, d_in);
  }
  return y;
}

/// y = x Wᵀ with every partial sum rounded to T.
inline Wide sums_in_t(const Element& t, const Wide& x, const Wide& weight) {
  t.require_16_bit();
  return by_rows(x, weight, [&](const double* a, const double* w, std::size_t n) {
    return sum_in(t, n, [&](std::size_t i) { return a[i] * w[i]; });
  });
}

/// Sums of 64 terms are right, but added up in T: tiles accumulated in the output itself.
inline Wide tiles_added_in_t(const Element& t, const Wide& x, const Wide& weight) {
  t.require_16_bit();
  return by_rows(x, weight, [&](const double* a, const double* w, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; i += 64) {
      sum = t.round(sum + std::inner_product(a + i, a + std::min(i + 64, n), w + i, 0.0));
    }
    return sum;
  });
}

/// Each product rounded to T before it is added.
inline Wide products_in_t(const Element& t, const Wide& x, const Wide& weight) {
  t.require_16_bit();
  return by_rows(x, weight, [&](const double* a, const double* w, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += t.round(a[i] * w[i]);
    return sum;
  });
}

/// Terms with a factor 0 left out: 0 times infinity no longer is NaN.
inline Wide zeros_skipped(const Wide& x, const Wide& weight) {
  return by_rows(x, weight, [](const double* a, const double* w, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += a[i] == 0 || w[i] == 0 ? 0 : a[i] * w[i];
    return sum;
  });
}

/// No more than 1024 terms: what one block of threads takes.
inline Wide first_1024_terms(const Wide& x, const Wide& weight) {
  return by_rows(x, weight, [](const double* a, const double* w, std::size_t n) {
    return std::inner_product(a, a + std::min<std::size_t>(n, 1024), w, 0.0);
  });
}

/// Rows beyond the first tile of 128 are never computed.
inline Wide one_tile_of_rows(const Wide& x, const Wide& weight) {
  return only_before(128 * weight.shape(0), reference::linear<double>(x, weight));
}

inline Wide subnormals_flushed(const Element& t, const Wide& x, const Wide& weight) {
  return flushed(t, reference::linear<double>(flushed(t, x), flushed(t, weight)));
}

}  // namespace prenorm::mistakes::linear
