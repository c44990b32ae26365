// CUDA's language for the host compiler, so that a kernel's source compiles unchanged as C++ and
// runs on the CPU (emulator.hpp). Only a part of CUDA is here; what is missing is a compile error,
// and nothing has another meaning.
#pragma once

#include "emulator.hpp"

#include <cstdint>
#include <cstring>
#include <math.h>  // not <cmath>: its functions are overloaded without std::, as CUDA's are
#include <type_traits>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
// A block runs on one thread of the machine, so block-local is thread-local.
#define __shared__ static thread_local

inline constexpr int warpSize = 32;

#if defined(__SANITIZE_ADDRESS__)
namespace prenorm::emulator {
/// Bytes beside static shared arrays (front/translate.cpp), which nobody may touch.
struct Wall {
  char bytes[128];
};
inline void forbid(const Wall& wall) { __asan_poison_memory_region(&wall, sizeof wall); }
/// What the compiler does not know the surroundings of, where it would not look at accesses.
template <class T>
T& between_walls(T& array) {
  T* volatile at = &array;
  return *at;
}
}  // namespace prenorm::emulator
#endif

// --- barriers ------------------------------------------------------------------------------------

// The last parameter of what waits: where the call stands.
#define PRENORM_HERE prenorm::emulator::Place here = prenorm::emulator::Place::current()

inline void __syncthreads(PRENORM_HERE) { prenorm::emulator::barrier(false, here); }
/// How many threads of the block gave a nonzero predicate.
inline int __syncthreads_count(int predicate, PRENORM_HERE) {
  return prenorm::emulator::barrier(predicate != 0, here).count;
}
inline int __syncthreads_and(int predicate, PRENORM_HERE) {
  const auto votes = prenorm::emulator::barrier(predicate != 0, here);
  return votes.count == votes.threads;
}
inline int __syncthreads_or(int predicate, PRENORM_HERE) {
  return prenorm::emulator::barrier(predicate != 0, here).count > 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, PRENORM_HERE) {
  prenorm::emulator::vote("__syncwarp", mask, false, here);
}
inline void __threadfence() { prenorm::emulator::fence(); }
inline void __threadfence_block() {}

// --- votes and shuffles --------------------------------------------------------------------------

inline unsigned __ballot_sync(unsigned mask, int predicate, PRENORM_HERE) {
  return prenorm::emulator::vote("__ballot_sync", mask, predicate != 0, here);
}
inline int __any_sync(unsigned mask, int predicate, PRENORM_HERE) {
  return prenorm::emulator::vote("__any_sync", mask, predicate != 0, here) != 0;
}
inline int __all_sync(unsigned mask, int predicate, PRENORM_HERE) {
  return prenorm::emulator::vote("__all_sync", mask, predicate == 0, here) == 0;
}
inline unsigned __activemask(PRENORM_HERE) {
  return prenorm::emulator::converged_lanes("__activemask", here);
}

namespace prenorm::emulator {

/// A value of up to 8 bytes, taken from another lane.
template <class T>
T take(const char* word, unsigned mask, T value, int source, Place here = {}) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = shuffle(word, mask, bits, source, here);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace prenorm::emulator

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, PRENORM_HERE) {
  const int lane = prenorm::emulator::lane();
  const int first = lane & ~(width - 1);
  return prenorm::emulator::take("__shfl_sync", mask, value, first + (source & (width - 1)), here);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize, PRENORM_HERE) {
  const int lane = prenorm::emulator::lane(), source = lane ^ bits;
  // As on a device: a lane of a later group is not read.
  const bool later = source >= (lane & ~(width - 1)) + width;
  return prenorm::emulator::take("__shfl_xor_sync", mask, value, later ? lane : source, here);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize, PRENORM_HERE) {
  const int lane = prenorm::emulator::lane(), source = lane + static_cast<int>(delta);
  const bool beyond = source >= (lane & ~(width - 1)) + width;
  return prenorm::emulator::take("__shfl_down_sync", mask, value, beyond ? lane : source, here);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize, PRENORM_HERE) {
  const int lane = prenorm::emulator::lane(), source = lane - static_cast<int>(delta);
  const bool before = source < (lane & ~(width - 1));
  return prenorm::emulator::take("__shfl_up_sync", mask, value, before ? lane : source, here);
}

// --- atomics: blocks run in parallel, so these are real ones ------------------------------------

namespace prenorm::emulator {

template <class T>
struct Same {
  using type = T;
};
/// T where it is not to be deduced (std::type_identity_t is of C++20).
template <class T>
using Given = typename Same<T>::type;

template <class T>
__forceinline__ void count_atomic([[maybe_unused]] const T& at) {
#if defined(PRENORM_EMULATOR_COUNTED)
  note_atomic(&at, sizeof at);
#endif
}

/// Replaces *address by change(*address), relaxed; returns what was there.
template <class T, class Change>
T atomically(T* address, Change change) {
  const AtomicOperation operation;
  count_atomic(*address);
  T seen, next;
  __atomic_load(address, &seen, __ATOMIC_RELAXED);
  do {
    next = change(seen);
  } while (
      !__atomic_compare_exchange(address, &seen, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return seen;
}

}  // namespace prenorm::emulator

template <class T>
T atomicAdd(T* address, prenorm::emulator::Given<T> value) {
  if constexpr (std::is_integral_v<T>) {
    const prenorm::emulator::AtomicOperation operation;
    prenorm::emulator::count_atomic(*address);
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  }
  return prenorm::emulator::atomically(address, [&](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicExch(T* address, prenorm::emulator::Given<T> value) {
  const prenorm::emulator::AtomicOperation operation;
  prenorm::emulator::count_atomic(*address);
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T>
T atomicCAS(T* address, prenorm::emulator::Given<T> expected, prenorm::emulator::Given<T> value) {
  const prenorm::emulator::AtomicOperation operation;
  prenorm::emulator::count_atomic(*address);
  __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
T atomicMin(T* address, prenorm::emulator::Given<T> value) {
  return prenorm::emulator::atomically(address, [&](T old) { return value < old ? value : old; });
}
template <class T>
T atomicMax(T* address, prenorm::emulator::Given<T> value) {
  return prenorm::emulator::atomically(address, [&](T old) { return old < value ? value : old; });
}

// --- loads, arithmetic ---------------------------------------------------------------------------

template <class T>
T __ldg(const T* address) {
  return *address;
}
// As CUDA has them: what is smaller than int is promoted.
#define PRENORM_INTEGERS(T)                        \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
PRENORM_INTEGERS(int)
PRENORM_INTEGERS(unsigned)
PRENORM_INTEGERS(long)
PRENORM_INTEGERS(unsigned long)
PRENORM_INTEGERS(long long)
PRENORM_INTEGERS(unsigned long long)
#undef PRENORM_INTEGERS
/// The position of the lowest set bit, from 1 on; 0 if there is none.
inline int __ffs(int bits) { return __builtin_ffs(bits); }
/// a - b, rounded up.
inline float __fsub_ru(float a, float b) {
  const double exact = static_cast<double>(a) - static_cast<double>(b);
  const float rounded = static_cast<float>(exact);
  return static_cast<double>(rounded) < exact ? std::nextafter(rounded, INFINITY) : rounded;
}
/// a b, rounded to the nearest and never joined with an addition.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
