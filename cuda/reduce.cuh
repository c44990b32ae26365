// Sums and maxima over the threads of a warp or a block. All threads get the result, with the same
// bits each time: the order of additions depends only on the number of threads.
#pragma once

#include "device.cuh"

namespace prenorm::cuda {

struct Sum {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};

/// The larger; NaN where either is. In float32 one instruction of the device.
struct Maximum {
  template <class C>
  __device__ C operator()(C a, C b) const {
#if defined(__CUDACC__)
    if constexpr (sizeof(C) == 4) {
      C larger;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
      return larger;
    }
#endif
    return a > b || a != a ? a : b;
  }
};

/// Over `lanes` neighbouring threads of a warp: a power of two, at most 32.
template <class Combine, class C>
__device__ C warp_reduce(C value, Combine combine, int lanes = 32) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

/// Over a block of whole warps along x. Every thread of the block must call it.
template <class Combine, class C>
__device__ C block_reduce(C value, Combine combine) {
  __shared__ C of_warp[32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  value = warp_reduce(value, combine);
  if (warps == 1) return value;
  __syncthreads();  // an earlier reduction may still be read
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = of_warp[lane < warps ? lane : 0];
  // Lanes beyond the last warp hold a repeated value: they must not be combined with the others.
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, value, static_cast<int>(distance));
    if ((lane ^ distance) < warps) value = combine(value, other);
  }
  return __shfl_sync(0xffffffffu, value, 0);
}

}  // namespace prenorm::cuda
