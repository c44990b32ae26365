// Known mistakes of reference/softmax.hpp.
#pragma once

#include "../softmax.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::softmax {

/// Calls f with the elements of each slice along dim, as a first index, a stride and a length.
template <class F>
void for_each_slice(const Tensor<double>& x, std::int64_t dim, F f) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  reference::require(dim >= -axes && dim < axes, "softmax: dim is no axis of x");
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  const std::size_t length = x.shape(axis);
  std::size_t inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / inner % length == 0) f(i, inner, length);
  }
}

/// e^x / sum e^x: overflows, in the compute type, where the maximum would have been
/// subtracted.
inline Wide no_maximum(const Element& t, const Wide& x, std::int64_t dim) {
  Tensor<double> y = x;
  for_each_slice(x, dim, [&](std::size_t first, std::size_t stride, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double& value = y.data()[first + i * stride];
      value = exp_in(t, value);
      sum += value;
    }
    for (std::size_t i = 0; i < n; ++i) y.data()[first + i * stride] /= sum;
  });
  return y;
}

/// The axis before `dim` (the last one if `dim` is the first).
inline Wide wrong_axis(const Wide& x, std::int64_t dim) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  reference::require(dim >= -axes && dim < axes, "softmax: dim is no axis of x");
  return reference::softmax<double>(x, (dim + 2 * axes - 1) % axes);
}

/// One sum over the whole tensor.
inline Wide global_sum(const Wide& x, std::int64_t) {
  Tensor<double> flat = x;
  flat.reshape({x.size()});
  Tensor<double> y = reference::softmax<double>(flat, 0);
  y.reshape(x.shape());
  return y;
}

/// log softmax.
inline Wide logarithm(const Wide& x, std::int64_t dim) {
  return xt::log(reference::softmax<double>(x, dim));
}

/// exp(x - log sum e^x), which keeps fewer digits the larger x is: a logarithm near 100 is known to
/// 4e-6 in float32.
template <class C>
Wide by_logarithm(const Wide& x, std::int64_t dim) {
  Tensor<double> y = x;
  for_each_slice(x, dim, [&](std::size_t first, std::size_t stride, std::size_t n) {
    double* a = y.data() + first;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < n; ++i) maximum = std::max(maximum, a[i * stride]);
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(a[i * stride] - maximum);
    const auto log_sum_exp = static_cast<C>(maximum + std::log(sum));
    for (std::size_t i = 0; i < n; ++i) {
      a[i * stride] = std::exp(static_cast<C>(a[i * stride]) - log_sum_exp);
    }
  });
  return y;
}

inline Wide log_sum_exp_subtracted(const Element& t, const Wide& x, std::int64_t dim) {
  if (t.is_16_bit()) throw not_implemented("a mistake that 16-bit types hide");
  return t.is<double>() ? by_logarithm<double>(x, dim) : by_logarithm<float>(x, dim);
}

/// Softmax with what round(x - maximum) and weigh(exponential) make of the differences and the
/// exponentials, the sum in float64.
template <class Round, class Weigh>
Wide rounded(const Wide& x, std::int64_t dim, Round round, Weigh weigh) {
  Tensor<double> y = x;
  for_each_slice(x, dim, [&](std::size_t first, std::size_t stride, std::size_t n) {
    double* a = y.data() + first;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < n; ++i) maximum = std::max(maximum, a[i * stride]);
    for (std::size_t i = 0; i < n; ++i) {
      sum += a[i * stride] = weigh(std::exp(round(a[i * stride] - maximum)));
    }
    for (std::size_t i = 0; i < n; ++i) a[i * stride] /= sum;
  });
  return y;
}

/// The exponentials rounded to T before they are summed and divided.
inline Wide exponentials_in_t(const Element& t, const Wide& x, std::int64_t dim) {
  t.require_16_bit();
  return rounded(
      x, dim, [](double a) { return a; }, [&](double e) { return t.round(e); });
}

/// The differences from the maximum rounded to T.
inline Wide differences_in_t(const Element& t, const Wide& x, std::int64_t dim) {
  t.require_16_bit();
  return rounded(
      x, dim, [&](double a) { return t.round(a); }, [](double e) { return e; });
}

/// The sum of exponentials rounded to T at each step.
inline Wide sums_in_t(const Element& t, const Wide& x, std::int64_t dim) {
  t.require_16_bit();
  Tensor<double> y = x;
  for_each_slice(x, dim, [&](std::size_t first, std::size_t stride, std::size_t n) {
    double* a = y.data() + first;
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) maximum = std::max(maximum, a[i * stride]);
    for (std::size_t i = 0; i < n; ++i) a[i * stride] = std::exp(a[i * stride] - maximum);
    const double sum = sum_in(t, n, [&](std::size_t i) { return a[i * stride]; });
    for (std::size_t i = 0; i < n; ++i) a[i * stride] /= sum;
  });
  return y;
}

/// Softmax that subtracts what `shift` makes of a slice: a first element, a stride and a length.
template <class Shift>
Wide shifted_by(const Element& t, const Wide& x, std::int64_t dim, Shift shift) {
  Tensor<double> y = x;
  for_each_slice(x, dim, [&](std::size_t first, std::size_t stride, std::size_t n) {
    double* a = y.data() + first;
    const double subtracted = shift(a, stride, n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      sum += a[i * stride] = exp_in(t, a[i * stride] - subtracted);
    for (std::size_t i = 0; i < n; ++i) a[i * stride] /= sum;
  });
  return y;
}

inline double largest_of(const double* a, std::size_t stride, std::size_t n, double from) {
  for (std::size_t i = 0; i < n; ++i) from = std::max(from, a[i * stride]);
  return from;
}

/// The search for the maximum begins at -10000 instead of -infinity.
inline Wide maximum_from_minus_1e4(const Element& t, const Wide& x, std::int64_t dim) {
  return shifted_by(t, x, dim, [](const double* a, std::size_t stride, std::size_t n) {
    return largest_of(a, stride, n, -1e4);
  });
}

/// The maximum of the first 32 elements only, one for each lane of a warp.
inline Wide maximum_of_first_tile(const Element& t, const Wide& x, std::int64_t dim) {
  return shifted_by(t, x, dim, [](const double* a, std::size_t stride, std::size_t n) {
    return largest_of(a, stride, std::min<std::size_t>(n, 32),
                      -std::numeric_limits<double>::infinity());
  });
}

/// One maximum for the whole tensor: slices far below it vanish.
inline Wide one_maximum_for_all(const Element& t, const Wide& x, std::int64_t dim) {
  const double largest =
      largest_of(x.data(), 1, x.size(), -std::numeric_limits<double>::infinity());
  return shifted_by(t, x, dim, [=](const double*, std::size_t, std::size_t) { return largest; });
}

/// In one pass over tiles of 256, the sum not rescaled where the maximum grows.
inline Wide sum_not_rescaled(const Wide& x, std::int64_t dim) {
  Tensor<double> y = x;
  for_each_slice(x, dim, [&](std::size_t first, std::size_t stride, std::size_t n) {
    double* a = y.data() + first;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t tile = 0; tile < n; tile += 256) {
      const std::size_t count = std::min<std::size_t>(256, n - tile);
      maximum = largest_of(a + tile * stride, stride, count, maximum);
      for (std::size_t i = tile; i < tile + count; ++i) sum += std::exp(a[i * stride] - maximum);
    }
    for (std::size_t i = 0; i < n; ++i) a[i * stride] = std::exp(a[i * stride] - maximum) / sum;
  });
  return y;
}

}  // namespace prenorm::mistakes::softmax
