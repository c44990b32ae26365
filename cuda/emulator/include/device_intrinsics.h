// Intrinsics of kernels: loads and stores with hints, bits, conversions, fast arithmetic (computed
// accurately here), atomics, and what ends or times a thread.
#pragma once

#include "../cuda_language.hpp"

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// --- loads and stores with hints for caches, which change no value
// --------------------------------

#define PRENORM_LOAD(name)          \
  template <class T>                \
  inline T name(const T* address) { \
    return *address;                \
  }
PRENORM_LOAD(__ldcg)
PRENORM_LOAD(__ldca)
PRENORM_LOAD(__ldcs)
PRENORM_LOAD(__ldlu)
PRENORM_LOAD(__ldcv)
#undef PRENORM_LOAD

#define PRENORM_STORE(name)                                     \
  template <class T>                                            \
  inline void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                           \
  }
PRENORM_STORE(__stwb)
PRENORM_STORE(__stcg)
PRENORM_STORE(__stcs)
PRENORM_STORE(__stwt)
#undef PRENORM_STORE

inline void __threadfence_system() { __threadfence(); }

// --- bits and integers ---------------------------------------------------------------------------

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) {
  return std::countl_zero(static_cast<unsigned long long>(bits));
}
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline unsigned __brev(unsigned bits) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= ((bits >> i) & 1u) << (31 - i);
  return result;
}
inline unsigned long long __brevll(unsigned long long bits) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(bits))) << 32) |
         __brev(static_cast<unsigned>(bits >> 32));
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(std::abs(static_cast<long long>(a) - b));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? high : (high << shift) | (low >> (32 - shift));
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? low : (low >> shift) | (high << (32 - shift));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(y) << 32) | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned which = (selector >> (4 * i)) & 7u;
    result |= static_cast<unsigned>((bytes >> (8 * which)) & 0xffu) << (8 * i);
  }
  return result;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  }
  return c;
}

// --- the same bits as another type
// ----------------------------------------------------------------

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

// --- conversions with a rounding
// ------------------------------------------------------------------

inline int __float2int_rn(float x) { return static_cast<int>(nearbyintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(nearbyintf(x)); }
inline unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline int __double2int_rn(double x) { return static_cast<int>(nearbyint(x)); }
inline double __int2double_rn(int x) { return x; }

// --- arithmetic: what is approximate on a device is accurate here
// ---------------------------------

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float __saturatef(float x) { return x > 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
// glibc has these from 2.41 on.
#if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 41)
inline float sinpif(float x) { return static_cast<float>(sin(M_PI * static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cos(M_PI * static_cast<double>(x))); }
#endif
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

// CUDA's min and max take mixed arguments as C's operators do.
#define PRENORM_LEAST(A, B, R)                                                            \
  inline R min(A a, B b) {                                                                \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }                                                                                       \
  inline R max(A a, B b) {                                                                \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); \
  }
PRENORM_LEAST(int, unsigned, unsigned)
PRENORM_LEAST(unsigned, int, unsigned)
PRENORM_LEAST(int, long, long)
PRENORM_LEAST(long, int, long)
PRENORM_LEAST(int, long long, long long)
PRENORM_LEAST(long long, int, long long)
PRENORM_LEAST(long, long long, long long)
PRENORM_LEAST(long long, long, long long)
PRENORM_LEAST(int, unsigned long, unsigned long)
PRENORM_LEAST(unsigned long, int, unsigned long)
PRENORM_LEAST(unsigned, unsigned long, unsigned long)
PRENORM_LEAST(unsigned long, unsigned, unsigned long)
#undef PRENORM_LEAST
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(static_cast<double>(a), b); }
inline double min(double a, float b) { return fmin(a, static_cast<double>(b)); }
inline double max(float a, double b) { return fmax(static_cast<double>(a), b); }
inline double max(double a, float b) { return fmax(a, static_cast<double>(b)); }

// --- atomics -------------------------------------------------------------------------------------

namespace prenorm::emulator {

/// Replaces *address by change(*address); returns what was there.
template <class T, class Change>
T atomically(T* address, Change change) {
  const prenorm::emulator::AtomicOperation operation;
  std::atomic_ref<T> place(*address);
  T seen = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(seen, change(seen), std::memory_order_relaxed)) {
  }
  return seen;
}

}  // namespace prenorm::emulator

template <class T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  const prenorm::emulator::AtomicOperation operation;
  return std::atomic_ref<T>(*address).fetch_sub(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  const prenorm::emulator::AtomicOperation operation;
  return std::atomic_ref<T>(*address).fetch_and(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  const prenorm::emulator::AtomicOperation operation;
  return std::atomic_ref<T>(*address).fetch_or(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  const prenorm::emulator::AtomicOperation operation;
  return std::atomic_ref<T>(*address).fetch_xor(value, std::memory_order_relaxed);
}
inline unsigned atomicInc(unsigned* address, unsigned last) {
  return prenorm::emulator::atomically(address,
                                       [&](unsigned old) { return old >= last ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned last) {
  return prenorm::emulator::atomically(
      address, [&](unsigned old) { return old == 0 || old > last ? last : old - 1; });
}
#define PRENORM_ATOMIC(name)             \
  template <class T, class V>            \
  T name##_block(T* address, V value) {  \
    return name(address, value);         \
  }                                      \
  template <class T, class V>            \
  T name##_system(T* address, V value) { \
    return name(address, value);         \
  }
PRENORM_ATOMIC(atomicAdd)
PRENORM_ATOMIC(atomicMin)
PRENORM_ATOMIC(atomicMax)
PRENORM_ATOMIC(atomicExch)
#undef PRENORM_ATOMIC

// --- warps ---------------------------------------------------------------------------------------

namespace prenorm::emulator {

/// Combines the values of the mask's lanes, in the order of their numbers.
template <class T, class Join>
T reduce_lanes(const char* word, unsigned mask, T value, Join join) {
  T result{};
  bool first = true;
  for (int source = 0; source < warpSize; ++source) {
    if ((mask >> source & 1u) == 0) continue;
    const T other = take(word, mask, value, source);
    result = first ? other : join(result, other);
    first = false;
  }
  return result;
}

}  // namespace prenorm::emulator

#define PRENORM_REDUCE(name, expression)                                              \
  template <std::integral T>                                                          \
  T name(unsigned mask, T value) {                                                    \
    return prenorm::emulator::reduce_lanes(#name, mask, value,                        \
                                           [](T a, T b) -> T { return expression; }); \
  }
PRENORM_REDUCE(__reduce_add_sync, static_cast<T>(a + b))
PRENORM_REDUCE(__reduce_min_sync, b < a ? b : a)
PRENORM_REDUCE(__reduce_max_sync, a < b ? b : a)
PRENORM_REDUCE(__reduce_and_sync, static_cast<T>(a& b))
PRENORM_REDUCE(__reduce_or_sync, static_cast<T>(a | b))
PRENORM_REDUCE(__reduce_xor_sync, static_cast<T>(a ^ b))
#undef PRENORM_REDUCE

template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  unsigned same = 0;
  for (int source = 0; source < warpSize; ++source) {
    if ((mask >> source & 1u) == 0) continue;
    const T other = prenorm::emulator::take("__match_any_sync", mask, value, source);
    same |= static_cast<unsigned>(std::memcmp(&other, &value, sizeof value) == 0) << source;
  }
  return same;
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all) {
  const bool same = __match_any_sync(mask, value) == mask;
  *all = __all_sync(mask, same);
  return *all != 0 ? mask : 0;
}

// --- the thread ----------------------------------------------------------------------------------

inline void __nanosleep(unsigned) {}
/// Host time: its differences are no measure of a device.
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
inline void __nop() {}
inline void __trap(PRENORM_HERE) { prenorm::emulator::fail("__trap()", here); }
inline void __brkpt() {}
