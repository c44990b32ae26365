// <cuda_fp16.h> of the emulator.
#pragma once

#include "cuda_runtime.h"
#include "small_floats.h"

using __half = prenorm::emulator::SmallFloat<prenorm::float16>;
using __half2 = prenorm::emulator::SmallPair<__half>;
using half = __half;
using half2 = __half2;

PRENORM_SMALL(__half, __half2)

inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline __half __double2half(double x) { return __half(x); }
inline __half __int2half_rn(int x) { return __half(x); }
inline float __half2float(__half x) { return x; }
inline int __half2int_rn(__half x) { return static_cast<int>(std::nearbyint(x.wide())); }
inline int __half2int_rz(__half x) { return static_cast<int>(x.wide()); }
inline __half __ushort_as_half(unsigned short bits) { return __half::of_bits(bits); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }

inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
inline float2 __half22float2(__half2 x) { return {x.x, x.y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 x) { return x.x; }
inline __half __high2half(__half2 x) { return x.y; }
inline float __low2float(__half2 x) { return x.x; }
inline float __high2float(__half2 x) { return x.y; }

inline __half atomicAdd(__half* address, __half value) {
  std::atomic_ref<std::uint16_t> place(address->bits);
  std::uint16_t seen = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(seen, (__half::of_bits(seen) + value).bits,
                                      std::memory_order_relaxed)) {
  }
  return __half::of_bits(seen);
}
inline __half2 atomicAdd(__half2* address, __half2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
