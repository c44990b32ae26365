// Arithmetic of 16-bit types, for cuda_fp16.h and cuda_bf16.h: each operation is computed in
// double, where it is exact or nearly so, and rounded once, to nearest even.
#pragma once

#include "../cuda_language.hpp"
#include "device_arithmetic.h"
#include "device_words.h"

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <prenorm/float16.hpp>
#include <type_traits>

namespace prenorm::emulator {

/// __half_raw or __nv_bfloat16_raw: only bits.
template <class Storage>
struct SmallRaw {
  unsigned short x;
};
template <class Storage>
struct alignas(4) SmallRawPair {
  unsigned short x, y;
};

/// __half or __nv_bfloat16, by the storage type that rounds. Trivial, so that it may be shared.
template <class Storage>
struct SmallFloat {
  SmallFloat() = default;
  SmallFloat(SmallRaw<Storage> raw) : bits(raw.x) {}
  operator SmallRaw<Storage>() const { return {bits}; }
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  SmallFloat(N value) : bits(Storage(static_cast<double>(value)).bits) {}

  operator float() const {
    Storage storage;
    storage.bits = bits;
    return storage;
  }
  static SmallFloat of_bits(std::uint16_t bits) {
    SmallFloat result;
    result.bits = bits;
    return result;
  }
  double wide() const { return static_cast<double>(static_cast<float>(*this)); }

  friend SmallFloat operator+(SmallFloat a, SmallFloat b) { return a.wide() + b.wide(); }
  friend SmallFloat operator-(SmallFloat a, SmallFloat b) { return a.wide() - b.wide(); }
  friend SmallFloat operator*(SmallFloat a, SmallFloat b) { return a.wide() * b.wide(); }
  friend SmallFloat operator/(SmallFloat a, SmallFloat b) { return a.wide() / b.wide(); }
  SmallFloat operator-() const { return of_bits(bits ^ 0x8000u); }
  SmallFloat& operator+=(SmallFloat b) { return *this = *this + b; }
  SmallFloat& operator-=(SmallFloat b) { return *this = *this - b; }
  SmallFloat& operator*=(SmallFloat b) { return *this = *this * b; }
  SmallFloat& operator/=(SmallFloat b) { return *this = *this / b; }
  friend bool operator==(SmallFloat a, SmallFloat b) { return a.wide() == b.wide(); }
  friend bool operator!=(SmallFloat a, SmallFloat b) { return a.wide() != b.wide(); }
  friend bool operator<(SmallFloat a, SmallFloat b) { return a.wide() < b.wide(); }
  friend bool operator>(SmallFloat a, SmallFloat b) { return a.wide() > b.wide(); }
  friend bool operator<=(SmallFloat a, SmallFloat b) { return a.wide() <= b.wide(); }
  friend bool operator>=(SmallFloat a, SmallFloat b) { return a.wide() >= b.wide(); }

  std::uint16_t bits;
};

/// __half2 or __nv_bfloat162.
template <class T>
struct alignas(4) SmallPair {
  SmallPair() = default;
  SmallPair(T x_, T y_) : x(x_), y(y_) {}
  template <class Storage>
  SmallPair(SmallRawPair<Storage> raw) : x(T::of_bits(raw.x)), y(T::of_bits(raw.y)) {}
  template <class Storage>
  operator SmallRawPair<Storage>() const {
    return {x.bits, y.bits};
  }
  friend SmallPair operator+(SmallPair a, SmallPair b) { return {a.x + b.x, a.y + b.y}; }
  friend SmallPair operator-(SmallPair a, SmallPair b) { return {a.x - b.x, a.y - b.y}; }
  friend SmallPair operator*(SmallPair a, SmallPair b) { return {a.x * b.x, a.y * b.y}; }
  friend SmallPair operator/(SmallPair a, SmallPair b) { return {a.x / b.x, a.y / b.y}; }
  SmallPair operator-() const { return {-x, -y}; }
  SmallPair& operator+=(SmallPair b) { return *this = *this + b; }
  SmallPair& operator-=(SmallPair b) { return *this = *this - b; }
  SmallPair& operator*=(SmallPair b) { return *this = *this * b; }
  SmallPair& operator/=(SmallPair b) { return *this = *this / b; }
  friend bool operator==(SmallPair a, SmallPair b) { return a.x == b.x && a.y == b.y; }
  friend bool operator!=(SmallPair a, SmallPair b) { return !(a == b); }
  friend bool operator<(SmallPair a, SmallPair b) { return a.x < b.x && a.y < b.y; }
  friend bool operator>(SmallPair a, SmallPair b) { return b < a; }
  friend bool operator<=(SmallPair a, SmallPair b) { return a.x <= b.x && a.y <= b.y; }
  friend bool operator>=(SmallPair a, SmallPair b) { return b <= a; }
  T x, y;
};

template <class T>
inline T fused(T a, T b, T c) {
  return T(std::fma(a.wide(), b.wide(), c.wide()));
}
template <class T>
inline SmallPair<T> fused(SmallPair<T> a, SmallPair<T> b, SmallPair<T> c) {
  return {fused(a.x, b.x, c.x), fused(a.y, b.y, c.y)};
}
/// The larger; NaN only where both are.
template <class T>
inline T larger(T a, T b) {
  return std::isnan(a.wide()) || b > a ? b : a;
}
template <class T>
inline T smaller(T a, T b) {
  return std::isnan(a.wide()) || b < a ? b : a;
}

/// From 0 to 1; NaN is 0.
template <class T>
inline T saturated_to_one(T a) {
  return a > T(0) ? (a > T(1) ? T(1) : a) : T(0);
}
/// The two by f: of pairs, of both parts.
template <class T, class F>
inline SmallPair<T> of_both(SmallPair<T> a, SmallPair<T> b, F f) {
  return {T(f(a.x, b.x)), T(f(a.y, b.y))};
}
template <class T, class F>
inline SmallPair<T> of_both(SmallPair<T> a, F f) {
  return {T(f(a.x)), T(f(a.y))};
}

/// The next value above, or below.
template <class T>
inline T neighbour(T a, bool above) {
  if ((a.bits & 0x7fffu) == 0) return T::of_bits(above ? 1 : 0x8001);
  const bool away = above == ((a.bits & 0x8000u) == 0);
  return T::of_bits(static_cast<std::uint16_t>(away ? a.bits + 1 : a.bits - 1));
}
/// x rounded in the direction of one of <cfenv>.
template <class T>
inline T rounded(long double x, int direction) {
  // In double the last bit remembers what was cut off, so that the second rounding is right.
  double odd = static_cast<double>(x);
  if (odd != x && std::isfinite(odd)) {
    if (std::abs(static_cast<long double>(odd)) > std::abs(x)) odd = std::nextafter(odd, 0.0);
    odd = __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, odd) | 1u);
  }
  const T near(odd);
  const long double reached = near.wide();
  const bool toward_zero = direction == FE_TOWARDZERO;
  if (reached < x && (direction == FE_UPWARD || (toward_zero && x < 0))) {
    return neighbour(near, true);
  }
  if (reached > x && (direction == FE_DOWNWARD || (toward_zero && x > 0))) {
    return neighbour(near, false);
  }
  return near;
}
/// A whole number as an integer of any size, saturating.
template <class To>
inline To whole(double x) {
  if constexpr (sizeof(To) >= 4) {
    return saturated<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(clamped<To>(saturated<int>(static_cast<float>(x))));
  }
}

}  // namespace prenorm::emulator

// Comparisons: of one, also where NaN makes them true; of pairs by 1 and 0, by masks, of both.
#define PRENORM_SMALL_COMPARED(T, T2, name, op)                                                   \
  inline bool __h##name(T a, T b) { return a op b; }                                              \
  inline bool __h##name##u(T a, T b) {                                                            \
    return std::isnan(a.wide()) || std::isnan(b.wide()) || a op b;                                \
  }                                                                                               \
  inline T2 __h##name##2(T2 a, T2 b) {                                                            \
    return prenorm::emulator::of_both(a, b, [](T x, T y) { return int{__h##name(x, y)}; });       \
  }                                                                                               \
  inline T2 __h##name##u2(T2 a, T2 b) {                                                           \
    return prenorm::emulator::of_both(a, b, [](T x, T y) { return int{__h##name##u(x, y)}; });    \
  }                                                                                               \
  inline unsigned __h##name##2_mask(T2 a, T2 b) {                                                 \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);       \
  }                                                                                               \
  inline unsigned __h##name##u2_mask(T2 a, T2 b) {                                                \
    return (__h##name##u(a.x, b.x) ? 0xffffu : 0u) | (__h##name##u(a.y, b.y) ? 0xffff0000u : 0u); \
  }                                                                                               \
  inline bool __hb##name##2(T2 a, T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }    \
  inline bool __hb##name##u2(T2 a, T2 b) {                                                        \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                      \
  }

// Functions of one number, and of both of a pair.
#define PRENORM_SMALL_FUNCTION(T, T2, name, expression) \
  inline T h##name(T a) {                               \
    const double x = a.wide();                          \
    return T(expression);                               \
  }                                                     \
  inline T2 h2##name(T2 a) { return {h##name(a.x), h##name(a.y)}; }

// Sums and products, of pairs too; and clamped to [0, 1].
#define PRENORM_SMALL_SUMS(T, T2, name, op)                                                        \
  inline T __h##name(T a, T b) { return a op b; }                                                  \
  inline T __h##name##_rn(T a, T b) { return a op b; }                                             \
  inline T __h##name##_sat(T a, T b) { return prenorm::emulator::saturated_to_one(a op b); }       \
  inline T2 __h##name##2(T2 a, T2 b) { return a op b; }                                            \
  inline T2 __h##name##2_rn(T2 a, T2 b) { return a op b; }                                         \
  inline T2 __h##name##2_sat(T2 a, T2 b) {                                                         \
    return prenorm::emulator::of_both(a op b,                                                      \
                                      [](T x) { return prenorm::emulator::saturated_to_one(x); }); \
  }

// Functions that both types have, by the same names.
#define PRENORM_SMALL(T, T2)                                                                    \
  PRENORM_SMALL_SUMS(T, T2, add, +)                                                             \
  PRENORM_SMALL_SUMS(T, T2, sub, -)                                                             \
  PRENORM_SMALL_SUMS(T, T2, mul, *)                                                             \
  PRENORM_SMALL_COMPARED(T, T2, eq, ==)                                                         \
  PRENORM_SMALL_COMPARED(T, T2, ne, !=)                                                         \
  PRENORM_SMALL_COMPARED(T, T2, lt, <)                                                          \
  PRENORM_SMALL_COMPARED(T, T2, gt, >)                                                          \
  PRENORM_SMALL_COMPARED(T, T2, le, <=)                                                         \
  PRENORM_SMALL_COMPARED(T, T2, ge, >=)                                                         \
  PRENORM_SMALL_FUNCTION(T, T2, exp, std::exp(x))                                               \
  PRENORM_SMALL_FUNCTION(T, T2, exp2, std::exp2(x))                                             \
  PRENORM_SMALL_FUNCTION(T, T2, exp10, std::pow(10.0, x))                                       \
  PRENORM_SMALL_FUNCTION(T, T2, log, std::log(x))                                               \
  PRENORM_SMALL_FUNCTION(T, T2, log2, std::log2(x))                                             \
  PRENORM_SMALL_FUNCTION(T, T2, log10, std::log10(x))                                           \
  PRENORM_SMALL_FUNCTION(T, T2, sqrt, std::sqrt(x))                                             \
  PRENORM_SMALL_FUNCTION(T, T2, rsqrt, 1 / std::sqrt(x))                                        \
  PRENORM_SMALL_FUNCTION(T, T2, rcp, 1 / x)                                                     \
  PRENORM_SMALL_FUNCTION(T, T2, sin, std::sin(x))                                               \
  PRENORM_SMALL_FUNCTION(T, T2, cos, std::cos(x))                                               \
  PRENORM_SMALL_FUNCTION(T, T2, tanh, std::tanh(x))                                             \
  PRENORM_SMALL_FUNCTION(T, T2, tanh_approx, std::tanh(x))                                      \
  PRENORM_SMALL_FUNCTION(T, T2, floor, std::floor(x))                                           \
  PRENORM_SMALL_FUNCTION(T, T2, ceil, std::ceil(x))                                             \
  PRENORM_SMALL_FUNCTION(T, T2, trunc, std::trunc(x))                                           \
  PRENORM_SMALL_FUNCTION(T, T2, rint, std::nearbyint(x))                                        \
  inline T __hdiv(T a, T b) { return a / b; }                                                   \
  inline T __hneg(T a) { return -a; }                                                           \
  inline T __habs(T a) { return T::of_bits(a.bits & 0x7fffu); }                                 \
  inline T __hfma(T a, T b, T c) { return prenorm::emulator::fused(a, b, c); }                  \
  inline T __hfma_sat(T a, T b, T c) {                                                          \
    return prenorm::emulator::saturated_to_one(__hfma(a, b, c));                                \
  }                                                                                             \
  inline T __hfma_relu(T a, T b, T c) {                                                         \
    const T result = __hfma(a, b, c);                                                           \
    return result < T(0) ? T(0) : result;                                                       \
  }                                                                                             \
  inline T __hmax(T a, T b) { return prenorm::emulator::larger(a, b); }                         \
  inline T __hmin(T a, T b) { return prenorm::emulator::smaller(a, b); }                        \
  inline bool __hisnan(T a) { return std::isnan(a.wide()); }                                    \
  inline int __hisinf(T a) { return std::isinf(a.wide()) ? (a.wide() > 0 ? 1 : -1) : 0; }       \
  /* NaN where one of them is. */                                                               \
  inline T __hmax_nan(T a, T b) {                                                               \
    return __hisnan(a) || __hisnan(b) ? T::of_bits(0x7fff) : __hmax(a, b);                      \
  }                                                                                             \
  inline T __hmin_nan(T a, T b) {                                                               \
    return __hisnan(a) || __hisnan(b) ? T::of_bits(0x7fff) : __hmin(a, b);                      \
  }                                                                                             \
  inline T2 __h2div(T2 a, T2 b) { return a / b; }                                               \
  inline T2 __hneg2(T2 a) { return -a; }                                                        \
  inline T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; }                                \
  inline T2 __hfma2(T2 a, T2 b, T2 c) { return prenorm::emulator::fused(a, b, c); }             \
  inline T2 __hfma2_sat(T2 a, T2 b, T2 c) {                                                     \
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};                              \
  }                                                                                             \
  inline T2 __hfma2_relu(T2 a, T2 b, T2 c) {                                                    \
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                            \
  }                                                                                             \
  /* a b + c of complex numbers */                                                              \
  inline T2 __hcmadd(T2 a, T2 b, T2 c) {                                                        \
    return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))}; \
  }                                                                                             \
  inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                \
  inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                \
  inline T2 __hmax2_nan(T2 a, T2 b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }    \
  inline T2 __hmin2_nan(T2 a, T2 b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }    \
  inline T2 __hisnan2(T2 a) { return {T(int{__hisnan(a.x)}), T(int{__hisnan(a.y)})}; }          \
  inline T2 __lowhigh2highlow(T2 a) { return {a.y, a.x}; }

// Between an integer type and the small one, in all roundings.
#define PRENORM_SMALL_INTEGER_BY(T, name, N, integer, by, direction, way)         \
  inline T __##integer##2##name##_##by(N x) {                                     \
    return prenorm::emulator::rounded<T>(static_cast<long double>(x), direction); \
  }                                                                               \
  inline N __##name##2##integer##_##by(T x) { return prenorm::emulator::whole<N>(way(x.wide())); }
#define PRENORM_SMALL_INTEGER(T, name, N, integer)                                \
  PRENORM_SMALL_INTEGER_BY(T, name, N, integer, rn, FE_TONEAREST, std::nearbyint) \
  PRENORM_SMALL_INTEGER_BY(T, name, N, integer, rz, FE_TOWARDZERO, std::trunc)    \
  PRENORM_SMALL_INTEGER_BY(T, name, N, integer, ru, FE_UPWARD, std::ceil)         \
  PRENORM_SMALL_INTEGER_BY(T, name, N, integer, rd, FE_DOWNWARD, std::floor)

// Conversions, whose names have the type's own: half or bfloat16, and pair, half2 or bfloat162.
#define PRENORM_SMALL_CONVERSIONS(T, T2, name, pair)                                              \
  PRENORM_SMALL_INTEGER(T, name, int, int)                                                        \
  PRENORM_SMALL_INTEGER(T, name, unsigned, uint)                                                  \
  PRENORM_SMALL_INTEGER(T, name, short, short)                                                    \
  PRENORM_SMALL_INTEGER(T, name, unsigned short, ushort)                                          \
  PRENORM_SMALL_INTEGER(T, name, long long, ll)                                                   \
  PRENORM_SMALL_INTEGER(T, name, unsigned long long, ull)                                         \
  inline signed char __##name##2char_rz(T x) {                                                    \
    return prenorm::emulator::whole<signed char>(std::trunc(x.wide()));                           \
  }                                                                                               \
  inline unsigned char __##name##2uchar_rz(T x) {                                                 \
    return prenorm::emulator::whole<unsigned char>(std::trunc(x.wide()));                         \
  }                                                                                               \
  inline T __float2##name(float x) { return T(x); }                                               \
  inline T __float2##name##_rn(float x) { return T(x); }                                          \
  inline T __float2##name##_rz(float x) {                                                         \
    return prenorm::emulator::rounded<T>(x, FE_TOWARDZERO);                                       \
  }                                                                                               \
  inline T __float2##name##_ru(float x) { return prenorm::emulator::rounded<T>(x, FE_UPWARD); }   \
  inline T __float2##name##_rd(float x) { return prenorm::emulator::rounded<T>(x, FE_DOWNWARD); } \
  inline T __double2##name(double x) { return T(x); }                                             \
  inline float __##name##2float(T x) { return x; }                                                \
  inline T __ushort_as_##name(unsigned short bits) { return T::of_bits(bits); }                   \
  inline unsigned short __##name##_as_ushort(T x) { return x.bits; }                              \
  inline T __short_as_##name(short bits) { return T::of_bits(static_cast<std::uint16_t>(bits)); } \
  inline short __##name##_as_short(T x) { return static_cast<short>(x.bits); }                    \
  inline T2 __float2##name##2_rn(float x) { return {T(x), T(x)}; }                                \
  inline T2 __floats2##name##2_rn(float x, float y) { return {T(x), T(y)}; }                      \
  inline T2 __float22##name##2_rn(float2 x) { return {T(x.x), T(x.y)}; }                          \
  inline float2 __##name##22float2(T2 x) { return {x.x, x.y}; }                                   \
  inline T2 __##name##2##name##2(T x) { return {x, x}; }                                          \
  inline T2 __halves2##name##2(T x, T y) { return {x, y}; }                                       \
  inline T2 make_##pair(T x, T y) { return {x, y}; }                                              \
  inline T __low2##name(T2 x) { return x.x; }                                                     \
  inline T __high2##name(T2 x) { return x.y; }                                                    \
  inline T2 __low2##name##2(T2 x) { return {x.x, x.x}; }                                          \
  inline T2 __high2##name##2(T2 x) { return {x.y, x.y}; }                                         \
  inline T2 __lows2##name##2(T2 x, T2 y) { return {x.x, y.x}; }                                   \
  inline T2 __highs2##name##2(T2 x, T2 y) { return {x.y, y.y}; }                                  \
  inline float __low2float(T2 x) { return x.x; }                                                  \
  inline float __high2float(T2 x) { return x.y; }                                                 \
  inline T2 atomicAdd(T2* address, T2 value) {                                                    \
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};                    \
  }
