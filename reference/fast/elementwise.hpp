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

#if defined(__FMA__)
#define PRENORM_ERFC_IN_SIMD  // without it a² cannot be had exactly enough

/// erfc of floats to about 3 ulp, in one pass for all arguments (xsimd evaluates two formulas and
/// selects one). Results below the smallest normal float, for x > 9.2, become 0.
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
    a = xsimd::select(a > Batch(9.4f), Batch(9.4f), a);  // the result is 0 there; NaN stays
    const Batch q = (a - Batch(3)) / (a + Batch(3));
    Batch even(even_ones[0]), odd(odd_ones[0]);
    for (std::size_t i = 1; i < std::size(odd_ones); ++i) {
      even = xsimd::fma(even, q * q, Batch(even_ones[i]));
      odd = xsimd::fma(odd, q * q, Batch(odd_ones[i]));
    }
    const Batch polynomial =
        xsimd::fma(odd, q, xsimd::fma(even, q * q, Batch(std::rbegin(even_ones)[0])));
    const Batch upper = polynomial / xsimd::fma(Batch(2), a, Batch(1)) * exp_of_minus_square(a);
    return xsimd::select(x < Batch(0), Batch(2) - upper, upper);
  }
  float operator()(const float& x) const { return simd_apply(xsimd::batch<float>(x)).get(0); }

 private:
  /// c - a², rounded once. xsimd rounds twice in registers of AVX-512.
  template <class Batch>
  static Batch minus_square(const Batch& c, const Batch& a) {
#if defined(__AVX512F__)
    if constexpr (sizeof(Batch) == sizeof(__m512)) return Batch(_mm512_fnmadd_ps(a, a, c));
#endif
    return xsimd::fnma(a, a, c);
  }

  /// exp(-a²) = 2^k exp(r) for a from 0 to 9.4; 0 from a = 9.38 on. a² is never rounded: its error
  /// would be that of the result, a² times as large.
  template <class Batch>
  static Batch exp_of_minus_square(const Batch& a) {
    constexpr float log2_e = 1.44269504f;
    constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;  // k ln2_high is exact
    const Batch k = xsimd::nearbyint(a * a * Batch(-log2_e));
    const Batch r = xsimd::fnma(k, Batch(ln2_low), minus_square(k * Batch(-ln2_high), a));
    Batch exp_r(1.3997796e-3f);
    for (const float c : {8.3955629e-3f, 4.1665401e-2f, 1.6666277e-1f, 0.5f}) {
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

#endif
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

/// erfc of each element; by the C library for float64, and where Erfc has no SIMD.
template <class E>
auto erfc(E&& a) {
  using C = typename std::remove_cvref_t<E>::value_type;
#if defined(PRENORM_ERFC_IN_SIMD)
  if constexpr (std::is_same_v<C, float>) {
    return xt::detail::make_xfunction<elementwise::Erfc>(std::forward<E>(a));
  } else
#endif
    return xt::make_lambda_xfunction([](C x) { return std::erfc(x); }, std::forward<E>(a));
}

}  // namespace prenorm::fast
