// Functions that the hardware approximates in one instruction, for results that are rounded to 16
// bits or are summed with others. Subnormal numbers become 0, on the CPU too.
#pragma once

#include "device.cuh"

#include <limits>

namespace prenorm::cuda {

#if !defined(__CUDACC__)
/// x, or 0 with its sign where x is subnormal.
inline float flushed(float x) {
  return fabsf(x) < std::numeric_limits<float>::min() ? copysignf(0, x) : x;
}
#endif

/// 2^x, to 2 units in the last place; 0 below 2^-126. 2^-infinity = 0, 2^NaN = NaN.
__device__ inline float exp2_fast(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return flushed(exp2f(x));
#endif
}

/// 1 / x, to 1 unit in the last place; 0 above 2^126. 1 / infinity = 0, 1 / NaN = NaN.
__device__ inline float reciprocal_fast(float x) {
#if defined(__CUDACC__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return flushed(1 / flushed(x));
#endif
}

}  // namespace prenorm::cuda
