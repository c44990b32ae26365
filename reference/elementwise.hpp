// exp and erfc of expressions, element by element.
//
// SIMD and the C library round these differently. xtensor uses SIMD for the elements that fill its
// registers and scalar code for the rest; here both use the same code, so that no bit of a result
// depends on an element's place in memory or in its row.
#pragma once

#include <xtensor/xmath.hpp>

#include <cmath>
#include <type_traits>
#include <utility>

namespace prenorm::reference {

namespace elementwise {
#if defined(XTENSOR_USE_XSIMD)

struct Exp {
  template <class C>
  C operator()(const C& a) const {
    return xsimd::exp(xsimd::batch<C>(a)).get(0);
  }
  template <class Batch>
  Batch simd_apply(const Batch& a) const {
    return xsimd::exp(a);
  }
};

/// erfc of floats to about 3 ulp, in one pass for all arguments; xsimd's computes two formulas and
/// selects.
///
/// (1 + 2a) exp(a²) erfc(a) hardly changes for a >= 0, so a polynomial in q = (a - 3) / (a + 3) is
/// enough for it (Shepherd & Laframboise 1981, Math. Comp. 36, 249-253). These coefficients
/// interpolate it in Chebyshev nodes, for a up to 10.5, with an error of 3e-9.
struct Erfc {
  template <class Batch>
  Batch simd_apply(const Batch& x) const {
    // Of q^10, q^8, ..., 1, and of q^9, q^7, ..., q: two sums side by side.
    constexpr float even_ones[] = {-0.0002735959993f, 0.002001771226f, -0.02379466453f,
                                   -0.1192719193f,    -0.04756231817f, 1.253008058f};
    constexpr float odd_ones[] = {-0.000788120753f, 0.002576856517f, 0.06829302906f, 0.1296467149f,
                                  -0.1356211491f};
    Batch a = xsimd::abs(x);
    a = xsimd::select(a > Batch(10.5f), Batch(10.5f), a);  // erfc is 0 there; NaN stays
    const Batch q = (a - Batch(3)) / (a + Batch(3));
    Batch even(even_ones[0]), odd(odd_ones[0]);
    for (std::size_t i = 1; i < std::size(odd_ones); ++i) {
      even = xsimd::fma(even, q * q, Batch(even_ones[i]));
      odd = xsimd::fma(odd, q * q, Batch(odd_ones[i]));
    }
    const Batch polynomial =
        xsimd::fma(odd, q, xsimd::fma(even, q * q, Batch(std::rbegin(even_ones)[0])));
    // exp(-a²), where a² is the sum of `square` and `rest`.
    const Batch square = a * a, rest = xsimd::fms(a, a, square);
    const Batch power = xsimd::exp(-square);
    const Batch upper = polynomial / xsimd::fma(Batch(2), a, Batch(1)) * (power - power * rest);
    return xsimd::select(x < Batch(0), Batch(2) - upper, upper);
  }
  float operator()(const float& x) const { return simd_apply(xsimd::batch<float>(x)).get(0); }
};

#else

struct Exp {
  template <class C>
  C operator()(const C& a) const {
    return std::exp(a);
  }
};
struct Erfc {
  float operator()(const float& x) const { return std::erfc(x); }
};

#endif
}  // namespace elementwise

/// exp of each element.
template <class E>
auto exp(E&& a) {
  return xt::detail::make_xfunction<elementwise::Exp>(std::forward<E>(a));
}

/// erfc of each element, by the C library for float64.
template <class E>
auto erfc(E&& a) {
  if constexpr (std::is_same_v<typename std::remove_cvref_t<E>::value_type, double>) {
    return xt::make_lambda_xfunction([](double x) { return std::erfc(x); }, std::forward<E>(a));
  } else {
    return xt::detail::make_xfunction<elementwise::Erfc>(std::forward<E>(a));
  }
}

}  // namespace prenorm::reference
