// Arithmetic and conversions of kernels with a rounding of their own, as a device does them, and
// the functions of CUDA's math library that the host's lacks. What is approximate on a device is
// accurate here.
#pragma once

#include "../cuda_language.hpp"

#include <cfenv>
#include <cmath>
#include <limits>

namespace prenorm::emulator {

/// The host rounds in that direction while this lives.
struct RoundingMode {
  explicit RoundingMode(int mode) { std::fesetround(mode); }
  ~RoundingMode() { std::fesetround(before); }
  const int before = std::fegetround();
};

/// A floating value that is whole, as an integer: what does not fit is the nearest that does. NaN
/// is 0 from 32 bits to 32, else only the highest bit is set.
template <class To, class From>
To saturated(From x) {
  using Limits = std::numeric_limits<To>;
  if (x != x) {
    if (sizeof(From) == 4 && sizeof(To) == 4) return 0;
    return static_cast<To>(To{1} << (sizeof(To) * 8 - 1));
  }
  const From end = std::ldexp(From{1}, Limits::digits);  // one more than the largest
  if (x >= end) return Limits::max();
  if (x <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(x);
}

}  // namespace prenorm::emulator

// --- rounded in a direction: rn to nearest, rz toward zero, ru up, rd down
// -------------------------

// Volatile, so that nothing is computed where the host rounds otherwise.
#define PRENORM_ROUNDED(T, a, b, name, mode)              \
  inline T name##add##b(T x, T y) {                       \
    const prenorm::emulator::RoundingMode now(mode);      \
    volatile T first = x, result = first + y;             \
    return result;                                        \
  }                                                       \
  inline T name##mul##b(T x, T y) {                       \
    const prenorm::emulator::RoundingMode now(mode);      \
    volatile T first = x, result = first * y;             \
    return result;                                        \
  }                                                       \
  inline T name##div##b(T x, T y) {                       \
    const prenorm::emulator::RoundingMode now(mode);      \
    volatile T first = x, result = first / y;             \
    return result;                                        \
  }                                                       \
  inline T name##rcp##b(T x) {                            \
    const prenorm::emulator::RoundingMode now(mode);      \
    volatile T first = x, result = T{1} / first;          \
    return result;                                        \
  }                                                       \
  inline T name##sqrt##b(T x) {                           \
    const prenorm::emulator::RoundingMode now(mode);      \
    volatile T first = x, result = std::sqrt(first);      \
    return result;                                        \
  }                                                       \
  inline T a##b(T x, T y, T z) {                          \
    const prenorm::emulator::RoundingMode now(mode);      \
    volatile T first = x, result = std::fma(first, y, z); \
    return result;                                        \
  }
#define PRENORM_ROUNDED_DIFFERENCE(T, name, mode)    \
  inline T name(T x, T y) {                          \
    const prenorm::emulator::RoundingMode now(mode); \
    volatile T first = x, result = first - y;        \
    return result;                                   \
  }
#define PRENORM_ROUNDED_FLOAT(b, mode)         \
  PRENORM_ROUNDED(float, __fmaf, b, __f, mode) \
  inline float __fmaf_ieee##b(float x, float y, float z) { return __fmaf##b(x, y, z); }
#define PRENORM_ROUNDED_DOUBLE(b, mode) PRENORM_ROUNDED(double, __fma, b, __d, mode)
PRENORM_ROUNDED_FLOAT(_rz, FE_TOWARDZERO)
PRENORM_ROUNDED_FLOAT(_ru, FE_UPWARD)
PRENORM_ROUNDED_FLOAT(_rd, FE_DOWNWARD)
PRENORM_ROUNDED_DOUBLE(_rz, FE_TOWARDZERO)
PRENORM_ROUNDED_DOUBLE(_ru, FE_UPWARD)
PRENORM_ROUNDED_DOUBLE(_rd, FE_DOWNWARD)
// __fsub_ru is in cuda_language.hpp.
PRENORM_ROUNDED_DIFFERENCE(float, __fsub_rz, FE_TOWARDZERO)
PRENORM_ROUNDED_DIFFERENCE(float, __fsub_rd, FE_DOWNWARD)
PRENORM_ROUNDED_DIFFERENCE(double, __dsub_rz, FE_TOWARDZERO)
PRENORM_ROUNDED_DIFFERENCE(double, __dsub_ru, FE_UPWARD)
PRENORM_ROUNDED_DIFFERENCE(double, __dsub_rd, FE_DOWNWARD)
#undef PRENORM_ROUNDED_DIFFERENCE
#undef PRENORM_ROUNDED_DOUBLE
#undef PRENORM_ROUNDED_FLOAT
#undef PRENORM_ROUNDED

// To nearest, as the host rounds. Kernels are compiled so that products and sums are never joined.
#define PRENORM_NEAREST(T, f, fma_name)                 \
  inline T __##f##add_rn(T x, T y) { return x + y; }    \
  inline T __##f##sub_rn(T x, T y) { return x - y; }    \
  inline T __##f##div_rn(T x, T y) { return x / y; }    \
  inline T __##f##rcp_rn(T x) { return T{1} / x; }      \
  inline T __##f##sqrt_rn(T x) { return std::sqrt(x); } \
  inline T fma_name(T x, T y, T z) { return std::fma(x, y, z); }
PRENORM_NEAREST(float, f, __fmaf_rn)
PRENORM_NEAREST(double, d, __fma_rn)
#undef PRENORM_NEAREST
inline double __dmul_rn(double x, double y) { return x * y; }  // __fmul_rn is in cuda_language.hpp
inline float __fmaf_ieee_rn(float x, float y, float z) { return __fmaf_rn(x, y, z); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }

// --- conversions
// -----------------------------------------------------------------------------------

#define PRENORM_TO_INTEGER(From, from, To, to)                  \
  inline To __##from##2##to##_rn(From x) {                      \
    return prenorm::emulator::saturated<To>(std::nearbyint(x)); \
  }                                                             \
  inline To __##from##2##to##_rz(From x) {                      \
    return prenorm::emulator::saturated<To>(std::trunc(x));     \
  }                                                             \
  inline To __##from##2##to##_rd(From x) {                      \
    return prenorm::emulator::saturated<To>(std::floor(x));     \
  }                                                             \
  inline To __##from##2##to##_ru(From x) { return prenorm::emulator::saturated<To>(std::ceil(x)); }
#define PRENORM_TO_INTEGERS(From, from)          \
  PRENORM_TO_INTEGER(From, from, int, int)       \
  PRENORM_TO_INTEGER(From, from, unsigned, uint) \
  PRENORM_TO_INTEGER(From, from, long long, ll)  \
  PRENORM_TO_INTEGER(From, from, unsigned long long, ull)
PRENORM_TO_INTEGERS(float, float)
PRENORM_TO_INTEGERS(double, double)
#undef PRENORM_TO_INTEGERS
#undef PRENORM_TO_INTEGER

#define PRENORM_CONVERTED(From, To, name, mode)      \
  inline To name(From x) {                           \
    const prenorm::emulator::RoundingMode now(mode); \
    volatile From first = x;                         \
    volatile To result = static_cast<To>(first);     \
    return result;                                   \
  }
#define PRENORM_CONVERSIONS(From, To, name)                  \
  inline To name##_rn(From x) { return static_cast<To>(x); } \
  PRENORM_CONVERTED(From, To, name##_rz, FE_TOWARDZERO)      \
  PRENORM_CONVERTED(From, To, name##_ru, FE_UPWARD)          \
  PRENORM_CONVERTED(From, To, name##_rd, FE_DOWNWARD)
PRENORM_CONVERSIONS(double, float, __double2float)
PRENORM_CONVERSIONS(int, float, __int2float)
PRENORM_CONVERSIONS(unsigned, float, __uint2float)
PRENORM_CONVERSIONS(long long, float, __ll2float)
PRENORM_CONVERSIONS(unsigned long long, float, __ull2float)
PRENORM_CONVERSIONS(long long, double, __ll2double)
PRENORM_CONVERSIONS(unsigned long long, double, __ull2double)
#undef PRENORM_CONVERSIONS
#undef PRENORM_CONVERTED
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }

// --- the same bits as another type
// -----------------------------------------------------------------

inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(
      static_cast<long long>((static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32) |
                             static_cast<unsigned>(low)));
}

// --- fast forms, accurate here
// -----------------------------------------------------------------------

inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float __saturatef(float x) { return x > 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

// --- CUDA's math functions that the C library lacks
// ----------------------------------------------------

namespace prenorm::emulator {

/// The y whose erfc(y) is x, by Newton's method on its logarithm.
inline double inverse_erfc(double x) {
  if (!(x > 0 && x < 2)) return x == 0 ? INFINITY : x == 2 ? -INFINITY : NAN;
  if (x > 1) return -inverse_erfc(2 - x);
  double y = x > 0.5 ? (1 - x) * 0.886226925452758 : std::sqrt(-std::log(x));
  for (int step = 0; step < 60; ++step) {
    const double erfc_y = std::erfc(y);
    const double slope = -1.1283791670955126 * std::exp(-y * y) / erfc_y;
    const double change = (std::log(erfc_y) - std::log(x)) / slope;
    y -= change;
    if (std::abs(change) <= 1e-16 * std::abs(y)) break;
  }
  return y;
}
/// The y whose erf(y) is x.
inline double inverse_erf(double x) {
  if (std::abs(x) >= 0.5) return x < 0 ? -inverse_erfc(1 + x) : inverse_erfc(1 - x);
  double y = x * 0.886226925452758;
  for (int step = 0; step < 60; ++step) {
    const double change = (std::erf(y) - x) * 0.886226925452758 * std::exp(y * y);
    y -= change;
    if (std::abs(change) <= 1e-17 * std::abs(y)) break;
  }
  return y;
}
/// exp(x²) erfc(x); far out by its continued fraction.
inline double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  double tail = x;
  for (int k = 60; k >= 1; --k) tail = x + k / 2.0 / tail;
  return 0.5641895835477563 / tail;
}

/// sin(pi x) and cos(pi x), exact at halves: by the nearest half, and what is left.
inline double sine_of_pi(double x) {
  const double near = std::remainder(x, 2.0), half = std::nearbyint(2 * near);  // -2 ... 2
  const double rest = M_PI * (near - half / 2);
  if (half == 0) return std::sin(rest);
  if (std::abs(half) == 2) return std::copysign(std::sin(rest), rest == 0 ? x : -rest);
  return half > 0 ? std::cos(rest) : -std::cos(rest);
}
inline double cosine_of_pi(double x) {
  const double near = std::remainder(x, 2.0), half = std::nearbyint(2 * near);
  const double rest = M_PI * (near - half / 2);
  if (half == 0) return std::cos(rest);
  if (std::abs(half) == 2) return -std::cos(rest);
  return half > 0 ? 0 - std::sin(rest) : std::sin(rest);
}

}  // namespace prenorm::emulator

// Each in double, and from there in float.
#define PRENORM_FUNCTION(name, expression)            \
  inline double name(double x) { return expression; } \
  inline float name##f(float x) { return static_cast<float>(name(static_cast<double>(x))); }
PRENORM_FUNCTION(rcbrt, 1.0 / cbrt(x))
PRENORM_FUNCTION(normcdf, 0.5 * erfc(-x * 0.70710678118654752))
PRENORM_FUNCTION(erfinv, prenorm::emulator::inverse_erf(x))
PRENORM_FUNCTION(erfcinv, prenorm::emulator::inverse_erfc(x))
PRENORM_FUNCTION(normcdfinv, -1.4142135623730951 * prenorm::emulator::inverse_erfc(2 * x))
PRENORM_FUNCTION(erfcx, prenorm::emulator::scaled_erfc(x))
PRENORM_FUNCTION(cyl_bessel_i0, std::cyl_bessel_i(0.0, std::abs(x)))
PRENORM_FUNCTION(cyl_bessel_i1, std::copysign(std::cyl_bessel_i(1.0, std::abs(x)), x))
// glibc has these from 2.41 on.
#if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 41)
PRENORM_FUNCTION(sinpi, prenorm::emulator::sine_of_pi(x))
PRENORM_FUNCTION(cospi, prenorm::emulator::cosine_of_pi(x))
#endif
#undef PRENORM_FUNCTION
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

inline double norm3d(double a, double b, double c) { return std::hypot(a, b, c); }
inline double norm4d(double a, double b, double c, double d) {
  return std::hypot(std::hypot(a, b), std::hypot(c, d));
}
inline double norm(int count, const double* values) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum = std::hypot(sum, values[i]);
  return sum;
}
inline float norm3df(float a, float b, float c) { return std::hypot(a, b, c); }
inline float norm4df(float a, float b, float c, float d) {
  return static_cast<float>(norm4d(static_cast<double>(a), static_cast<double>(b),
                                   static_cast<double>(c), static_cast<double>(d)));
}
inline float normf(int count, const float* values) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum = std::hypot(sum, static_cast<double>(values[i]));
  return static_cast<float>(sum);
}
inline double rhypot(double a, double b) { return 1 / hypot(a, b); }
inline float rhypotf(float a, float b) { return 1 / hypotf(a, b); }
inline double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
inline float rnorm3df(float a, float b, float c) { return 1 / norm3df(a, b, c); }
inline double rnorm4d(double a, double b, double c, double d) { return 1 / norm4d(a, b, c, d); }
inline float rnorm4df(float a, float b, float c, float d) { return 1 / norm4df(a, b, c, d); }
inline double rnorm(int count, const double* values) { return 1 / norm(count, values); }
inline float rnormf(int count, const float* values) { return 1 / normf(count, values); }

inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return b < a ? b : a; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return b < a ? b : a;
}
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}
