// Arithmetic of 16-bit types, for cuda_fp16.h and cuda_bf16.h: each operation is computed in
// double, where it is exact or nearly so, and rounded once, to nearest even.
#pragma once

#include "../cuda_language.hpp"

#include <cmath>
#include <cstdint>
#include <prenorm/float16.hpp>
#include <type_traits>

namespace prenorm::emulator {

/// __half or __nv_bfloat16, by the storage type that rounds. Trivial, so that it may be shared.
template <class Storage>
struct SmallFloat {
  SmallFloat() = default;
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
  friend SmallPair operator+(SmallPair a, SmallPair b) { return {a.x + b.x, a.y + b.y}; }
  friend SmallPair operator-(SmallPair a, SmallPair b) { return {a.x - b.x, a.y - b.y}; }
  friend SmallPair operator*(SmallPair a, SmallPair b) { return {a.x * b.x, a.y * b.y}; }
  friend SmallPair operator/(SmallPair a, SmallPair b) { return {a.x / b.x, a.y / b.y}; }
  SmallPair operator-() const { return {-x, -y}; }
  SmallPair& operator+=(SmallPair b) { return *this = *this + b; }
  SmallPair& operator-=(SmallPair b) { return *this = *this - b; }
  SmallPair& operator*=(SmallPair b) { return *this = *this * b; }
  friend bool operator==(SmallPair a, SmallPair b) { return a.x == b.x && a.y == b.y; }
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

}  // namespace prenorm::emulator

// Functions that both types have, by the same names.
#define PRENORM_SMALL(T, T2)                                                              \
  inline T __hadd(T a, T b) { return a + b; }                                             \
  inline T __hsub(T a, T b) { return a - b; }                                             \
  inline T __hmul(T a, T b) { return a * b; }                                             \
  inline T __hdiv(T a, T b) { return a / b; }                                             \
  inline T __hadd_rn(T a, T b) { return a + b; }                                          \
  inline T __hmul_rn(T a, T b) { return a * b; }                                          \
  inline T __hneg(T a) { return -a; }                                                     \
  inline T __habs(T a) { return T::of_bits(a.bits & 0x7fffu); }                           \
  inline T __hfma(T a, T b, T c) { return prenorm::emulator::fused(a, b, c); }            \
  inline T __hmax(T a, T b) { return prenorm::emulator::larger(a, b); }                   \
  inline T __hmin(T a, T b) { return prenorm::emulator::smaller(a, b); }                  \
  inline bool __heq(T a, T b) { return a == b; }                                          \
  inline bool __hne(T a, T b) { return a != b; }                                          \
  inline bool __hlt(T a, T b) { return a < b; }                                           \
  inline bool __hgt(T a, T b) { return a > b; }                                           \
  inline bool __hle(T a, T b) { return a <= b; }                                          \
  inline bool __hge(T a, T b) { return a >= b; }                                          \
  inline bool __hisnan(T a) { return std::isnan(a.wide()); }                              \
  inline int __hisinf(T a) { return std::isinf(a.wide()) ? (a.wide() > 0 ? 1 : -1) : 0; } \
  inline T hexp(T a) { return T(std::exp(a.wide())); }                                    \
  inline T hexp2(T a) { return T(std::exp2(a.wide())); }                                  \
  inline T hlog(T a) { return T(std::log(a.wide())); }                                    \
  inline T hlog2(T a) { return T(std::log2(a.wide())); }                                  \
  inline T hsqrt(T a) { return T(std::sqrt(a.wide())); }                                  \
  inline T hrsqrt(T a) { return T(1 / std::sqrt(a.wide())); }                             \
  inline T hrcp(T a) { return T(1 / a.wide()); }                                          \
  inline T hsin(T a) { return T(std::sin(a.wide())); }                                    \
  inline T hcos(T a) { return T(std::cos(a.wide())); }                                    \
  inline T htanh(T a) { return T(std::tanh(a.wide())); }                                  \
  inline T hfloor(T a) { return T(std::floor(a.wide())); }                                \
  inline T hceil(T a) { return T(std::ceil(a.wide())); }                                  \
  inline T2 __hadd2(T2 a, T2 b) { return a + b; }                                         \
  inline T2 __hsub2(T2 a, T2 b) { return a - b; }                                         \
  inline T2 __hmul2(T2 a, T2 b) { return a * b; }                                         \
  inline T2 __h2div(T2 a, T2 b) { return a / b; }                                         \
  inline T2 __hneg2(T2 a) { return -a; }                                                  \
  inline T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; }                          \
  inline T2 __hfma2(T2 a, T2 b, T2 c) { return prenorm::emulator::fused(a, b, c); }       \
  inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }          \
  inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }          \
  inline T2 h2exp(T2 a) { return {hexp(a.x), hexp(a.y)}; }                                \
  inline T2 h2sqrt(T2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }                             \
  inline T2 h2rsqrt(T2 a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }                          \
  inline T2 h2rcp(T2 a) { return {hrcp(a.x), hrcp(a.y)}; }

// Conversions, whose names have the type's own: half or bfloat16, and pair, half2 or bfloat162.
#define PRENORM_SMALL_CONVERSIONS(T, T2, name, pair)                                       \
  inline T __float2##name(float x) { return T(x); }                                        \
  inline T __float2##name##_rn(float x) { return T(x); }                                   \
  inline T __double2##name(double x) { return T(x); }                                      \
  inline T __int2##name##_rn(int x) { return T(x); }                                       \
  inline float __##name##2float(T x) { return x; }                                         \
  inline int __##name##2int_rn(T x) { return static_cast<int>(std::nearbyint(x.wide())); } \
  inline int __##name##2int_rz(T x) { return static_cast<int>(x.wide()); }                 \
  inline T __ushort_as_##name(unsigned short bits) { return T::of_bits(bits); }            \
  inline unsigned short __##name##_as_ushort(T x) { return x.bits; }                       \
  inline T2 __float2##name##2_rn(float x) { return {T(x), T(x)}; }                         \
  inline T2 __floats2##name##2_rn(float x, float y) { return {T(x), T(y)}; }               \
  inline T2 __float22##name##2_rn(float2 x) { return {T(x.x), T(x.y)}; }                   \
  inline float2 __##name##22float2(T2 x) { return {x.x, x.y}; }                            \
  inline T2 __##name##2##name##2(T x) { return {x, x}; }                                   \
  inline T2 __halves2##name##2(T x, T y) { return {x, y}; }                                \
  inline T2 make_##pair(T x, T y) { return {x, y}; }                                       \
  inline T __low2##name(T2 x) { return x.x; }                                              \
  inline T __high2##name(T2 x) { return x.y; }                                             \
  inline float __low2float(T2 x) { return x.x; }                                           \
  inline float __high2float(T2 x) { return x.y; }                                          \
  inline T2 atomicAdd(T2* address, T2 value) {                                             \
    return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};             \
  }
