// Solutions of `centred`, a problem that the harness has never heard of (tests/support/centred.py).
#pragma once

#include <prenorm/prenorm.hpp>

#include <type_traits>
#include <vector>

using prenorm::View;
/// y = (x - mean(x)) * scale + bias, the mean over the last axis, summed in Sum.
template <class T, class Sum, bool reversed = false>
void centre(View<const T> x, View<const T> bias, double scale, View<T> y, Sum divide_by = 0) {
  if (!(scale > 0)) throw std::invalid_argument("centred: scale must be above 0");
  const std::int64_t n = bias.size();
  for (std::int64_t row = 0; n > 0 && row < x.size() / n; ++row) {
    Sum sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<Sum>(x[row * n + (reversed ? n - 1 - i : i)]);
    }
    const Sum mean = sum / (divide_by > 0 ? divide_by : static_cast<Sum>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      y[row * n + i] =
          static_cast<T>((static_cast<Sum>(x[row * n + i]) - mean) * static_cast<Sum>(scale) +
                         static_cast<Sum>(bias[i]));
    }
  }
}
template <class T>
using Wide = std::conditional_t<(sizeof(T) > 4), double, float>;
PRENORM_SOLUTION(kDLCPU)
