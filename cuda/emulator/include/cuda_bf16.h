// <cuda_bf16.h> of the emulator.
#pragma once

#include "cuda_runtime.h"
#include "small_floats.h"

using __nv_bfloat16 = prenorm::emulator::SmallFloat<prenorm::bfloat16>;
using __nv_bfloat162 = prenorm::emulator::SmallPair<__nv_bfloat16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

PRENORM_SMALL(__nv_bfloat16, __nv_bfloat162)

inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline int __bfloat162int_rn(__nv_bfloat16 x) { return static_cast<int>(std::nearbyint(x.wide())); }
inline int __bfloat162int_rz(__nv_bfloat16 x) { return static_cast<int>(x.wide()); }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16::of_bits(bits);
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }

inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 x) {
  return {__nv_bfloat16(x.x), __nv_bfloat16(x.y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 x) { return {x.x, x.y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
inline float __low2float(__nv_bfloat162 x) { return x.x; }
inline float __high2float(__nv_bfloat162 x) { return x.y; }

inline __nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value) {
  std::atomic_ref<std::uint16_t> place(address->bits);
  std::uint16_t seen = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(seen, (__nv_bfloat16::of_bits(seen) + value).bits,
                                      std::memory_order_relaxed)) {
  }
  return __nv_bfloat16::of_bits(seen);
}
inline __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
