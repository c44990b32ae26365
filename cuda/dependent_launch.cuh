// Kernels that begin while the one before them in the stream still runs (early of launch.cuh), from
// sm_90 on: their blocks take the room that it leaves as it ends, so that it is not idle between
// the two.
//
// Such a kernel first waits, in all of its threads. So when it has ended all kernels before it
// have, and one more that begins early behind it need not know of them. Before it has waited it may
// read its parameters and write to shared memory, and no more: kernels before it may still write
// what it reads and read what it writes. Nor may it load what it reads by `const T* __restrict__`,
// unless no kernel ever writes that: the compiler takes it that such memory never changes, and
// might load it before the wait.
#pragma once

#include "device.cuh"

namespace prenorm::cuda {

/// Until all kernels before this one have ended and what they wrote is seen. In code for earlier
/// devices, and after a launch that is not early, they have.
__device__ inline void wait_for_the_kernel_before() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// From when all blocks have called this, or have ended, the next kernel may begin if it is early.
__device__ inline void let_the_next_begin() {
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace prenorm::cuda
