// Root mean square layer normalization.
#pragma once

#include "sums.hpp"

namespace prenorm::reference {

/// RMSNorm:  y = x / sqrt(mean(x^2) + eps) * weight, the mean over the last axis.
///
/// Source   Zhang & Sennrich 2019, arXiv:1910.07467, eq. 4; the eps of CS336 2025, eq. 4
/// Shapes   x[..., d_model], weight[d_model] -> y[..., d_model]
/// Types    any T; 16-bit types are widened to float32 and rounded once, at the end
/// Errors   std::invalid_argument if x has no axis, weight is not [d_model], or d_model is 0
/// Twins    fixtures/rmsnorm.h5  tests/test_rmsnorm.cpp
template <class T>
Tensor<T> rmsnorm(const Tensor<T>& x, const Tensor<T>& weight, double eps = 1e-5) {
  require(x.dimension() >= 1, "rmsnorm: x must have an axis d_model");
  const std::size_t d_model = x.shape().back();
  require(weight.dimension() == 1 && weight.shape(0) == d_model,
          "rmsnorm: weight must be [" + std::to_string(d_model) + "], is " +
              to_text(weight.shape()));
  using C = compute_t<T>;
  const Tensor<C> wide_weight = widen(weight);
  const auto gain = row_view(wide_weight.data(), d_model);

  return map_rows(x, d_model, [&](const auto& a, auto& y) {
    const C rms = std::sqrt(mean_of_squares(a) + static_cast<C>(eps));
    xt::noalias(y) = a / rms * gain;
  });
}

}  // namespace prenorm::reference
