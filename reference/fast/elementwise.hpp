// exp and erfc of expressions, element by element.
//
// SIMD and the C library round these differently. xtensor uses SIMD for the elements that fill its
// registers and scalar code for the rest; here both use the same code, so that no bit of a result
// depends on an element's place in memory or in its row.
#pragma once

#include <xtensor/xmath.hpp>

#include <cmath>
#include <concepts>
#include <type_traits>
#include <utility>

namespace prenorm::fast {

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

/// erfc of floats, in one pass for all arguments (xsimd evaluates two formulas and selects one), to
/// 3 ulp and a² ulp more, as a² is rounded. From x = 9.38 on the result is 0.
///
/// erfc(a) = exp(-a²) P(t), t = 1 / (1 + 0.42 a), for a >= 0: the form of Abramowitz & Stegun
/// 1964, 7.1.26, with a polynomial of degree 8, whose relative error is 3e-7, and where GELU is
/// large, 5e-9.
struct Erfc {
  template <class Batch>
  Batch simd_apply(const Batch& x) const {
    constexpr float of_t[] = {0.07288364268f, -0.3308006595f, 0.4578577158f, -0.145337069f,
                              0.2759968707f,  0.1927149716f,  0.2398773413f, 0.2368071971f};
    Batch a = xsimd::abs(x);
    a = xsimd::select(a > Batch(9.4f), Batch(9.4f), a);  // the result is 0 there; NaN stays
    const Batch t = Batch(1) / xsimd::fma(Batch(0.42f), a, Batch(1));
    Batch polynomial(of_t[0]);
    for (std::size_t i = 1; i < std::size(of_t); ++i) {
      polynomial = xsimd::fma(polynomial, t, Batch(of_t[i]));
    }
    const Batch upper = polynomial * t * exp_of(-a * a);
    return xsimd::select(x < Batch(0), Batch(2) - upper, upper);
  }
  float operator()(const float& x) const { return simd_apply(xsimd::batch<float>(x)).get(0); }

 private:
  /// exp(b) = 2^k exp(r) for b from -88.4, where it is 0, to 0; to 1e-7 and the rounding of b.
  template <class Batch>
  static Batch exp_of(const Batch& b) {
    const Batch k = xsimd::nearbyint(b * Batch(1.44269504f));  // log2 e
    const Batch r = xsimd::fnma(k, Batch(0.693147181f), b);
    Batch exp_r(8.31248e-3f);
    for (const float c : {4.189027e-2f, 1.6667115e-1f, 4.9999231e-1f}) {
      exp_r = xsimd::fma(exp_r, r, Batch(c));
    }
    exp_r = xsimd::fma(exp_r, r * r, r) + Batch(1);
    const auto exponent = xsimd::to_int(k) + xsimd::batch<std::int32_t>(127);  // 0 for k = -127
    return exp_r * with_bits<Batch>(exponent << 23);
  }

  /// Newer versions of xsimd name the type of an element.
  template <class Batch, class Bits>
  static Batch with_bits(const Bits& bits) {
    if constexpr (requires {
                    { xsimd::bitwise_cast<float>(bits) } -> std::same_as<Batch>;
                  }) {
      return xsimd::bitwise_cast<float>(bits);
    } else {
      return xsimd::bitwise_cast<Batch>(bits);
    }
  }
};

#else

struct Exp {
  template <class C>
  C operator()(const C& a) const {
    return std::exp(a);
  }
};

#endif
}  // namespace elementwise

/// exp of each element.
template <class E>
auto exp(E&& a) {
  return xt::detail::make_xfunction<elementwise::Exp>(std::forward<E>(a));
}

/// erfc of each element; by the C library for float64, and without SIMD.
template <class E>
auto erfc(E&& a) {
  using C = typename std::remove_cvref_t<E>::value_type;
#if defined(XTENSOR_USE_XSIMD)
  if constexpr (std::is_same_v<C, float>) {
    return xt::detail::make_xfunction<elementwise::Erfc>(std::forward<E>(a));
  } else
#endif
    return xt::make_lambda_xfunction([](C x) { return std::erfc(x); }, std::forward<E>(a));
}

}  // namespace prenorm::fast
