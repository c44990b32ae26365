// Intrinsics of kernels: loads and stores with hints, bits, conversions, fast arithmetic (computed
// accurately here), atomics, and what ends or times a thread.
#pragma once

#include "../cuda_language.hpp"
#include "device_arithmetic.h"
#include "device_words.h"

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

#define PRENORM_STORE(name)                                         \
  template <class T>                                                \
  inline void name(T* address, prenorm::emulator::Given<T> value) { \
    *address = value;                                               \
  }
PRENORM_STORE(__stwb)
PRENORM_STORE(__stcg)
PRENORM_STORE(__stcs)
PRENORM_STORE(__stwt)
#undef PRENORM_STORE

inline void __threadfence_system() { __threadfence(); }

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
PRENORM_LEAST(long, unsigned long, unsigned long)
PRENORM_LEAST(unsigned long, long, unsigned long)
PRENORM_LEAST(long long, unsigned long long, unsigned long long)
PRENORM_LEAST(unsigned long long, long long, unsigned long long)
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

template <class T>
T atomicSub(T* address, prenorm::emulator::Given<T> value) {
  return prenorm::emulator::atomically(address, [&](T old) { return static_cast<T>(old - value); });
}
template <class T>
T atomicAnd(T* address, prenorm::emulator::Given<T> value) {
  return prenorm::emulator::atomically(address, [&](T old) { return old & value; });
}
template <class T>
T atomicOr(T* address, prenorm::emulator::Given<T> value) {
  return prenorm::emulator::atomically(address, [&](T old) { return old | value; });
}
template <class T>
T atomicXor(T* address, prenorm::emulator::Given<T> value) {
  return prenorm::emulator::atomically(address, [&](T old) { return old ^ value; });
}
inline unsigned atomicInc(unsigned* address, unsigned last) {
  return prenorm::emulator::atomically(address,
                                       [&](unsigned old) { return old >= last ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned last) {
  return prenorm::emulator::atomically(
      address, [&](unsigned old) { return old == 0 || old > last ? last : old - 1; });
}
// Every thread of the emulator sees what any other does.
#define PRENORM_ATOMIC(name)                \
  template <class T, class... V>            \
  T name##_block(T* address, V... value) {  \
    return name(address, value...);         \
  }                                         \
  template <class T, class... V>            \
  T name##_system(T* address, V... value) { \
    return name(address, value...);         \
  }
PRENORM_ATOMIC(atomicAdd)
PRENORM_ATOMIC(atomicSub)
PRENORM_ATOMIC(atomicMin)
PRENORM_ATOMIC(atomicMax)
PRENORM_ATOMIC(atomicExch)
PRENORM_ATOMIC(atomicCAS)
PRENORM_ATOMIC(atomicAnd)
PRENORM_ATOMIC(atomicOr)
PRENORM_ATOMIC(atomicXor)
PRENORM_ATOMIC(atomicInc)
PRENORM_ATOMIC(atomicDec)
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
  template <class T>                                                                  \
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
