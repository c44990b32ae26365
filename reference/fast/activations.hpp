// Activation functions, element by element.
//
//   relu   y = max(0, x)
//   silu   y = x sigmoid(x)
//   gelu   y = x Phi(x)
//
// Contracts: reference/activations.hpp
#pragma once

#include "elementwise.hpp"
#include "field.hpp"

namespace prenorm::fast {

/// ReLU:  y = max(0, x); NaN stays NaN.
template <class T>
Tensor<T> relu(const Tensor<T>& x) {
  // Written so that NaN, for which every comparison is false, is kept.
  // step: each element
  return map_elements(x, [](const auto& a) {
    using C = compute_t<T>;
    return xt::where(a < C(0), C(0), a);  // step: maximum with 0
  });
}

/// SiLU, also called Swish:  y = x sigmoid(x) = x / (1 + exp(-x))
template <class T>
Tensor<T> silu(const Tensor<T>& x) {
  // exp(-x) is in the denominator: where it overflows, the quotient is 0, which y nearly is.
  // step: each element, x sigmoid(x)
  return map_elements(x, [](const auto& a) { return a / (compute_t<T>(1) + fast::exp(-a)); });
}

/// The standard normal distribution function, a probability: (1 + erf(x/sqrt(2))) / 2.
template <class A>
auto normal_cdf(const A& a) {
  using C = typename A::value_type;
#if defined(PRENORM_PLAIN)
  return (C(1) + xt::make_lambda_xfunction([](C b) { return textbook::erf(b); },
                                           a * C(0.70710678118654752440))) *
         C(0.5);  // step: Phi
#else
  // The same by erfc, without cancellation where x is far below 0.
  return fast::erfc(a * C(-0.70710678118654752440)) * C(0.5);  // step: Phi
#endif
}

/// GELU, the exact form:  y = x Phi(x) = x (1 + erf(x / sqrt(2))) / 2
template <class T>
Tensor<T> gelu(const Tensor<T>& x) {
  // step: each element, x Phi(x)
  return map_elements(x, [](const auto& a) { return a * normal_cdf(a); });
}

}  // namespace prenorm::fast
