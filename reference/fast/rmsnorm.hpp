// Root mean square layer normalization.
// Contracts: reference/rmsnorm.hpp
#pragma once

#include "sums.hpp"

namespace prenorm::fast {

/// RMSNorm:  y = x / sqrt(mean(x^2) + eps) * weight, the mean over the last axis.
template <class T>
Tensor<T> rmsnorm(const Tensor<T>& x, const Tensor<T>& weight, double eps = 1e-5) {
  require(x.dimension() >= 1, "rmsnorm: x must have an axis d_model");
  const std::size_t d_model = x.shape().back();
  require(weight.dimension() == 1 && weight.shape(0) == d_model, "rmsnorm: weight must be [",
          d_model, "], is ", weight.shape());
  using C = compute_t<T>;
  const Tensor<C>& wide_weight = widen(weight);
  const auto gain = row_view(wide_weight.data(), d_model);

  return map_rows(x, d_model, [&](const auto& a, auto& y) {
    // step: mean of squares, root
    const C rms = std::sqrt(mean_of_squares(a) + static_cast<C>(eps));
    // step: normalize, gain
    xt::noalias(y) = a / rms * gain;
  });
}

}  // namespace prenorm::fast
