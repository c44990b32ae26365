// CUDA for every file of this folder: the real one under nvcc, the emulator's under the host
// compiler. Only those files ask which of the two it is that call CUDA's runtime (launch.cuh,
// device_error.cu, workspace.cuh), its libraries (linear.cu), intrinsics or PTX (types.cuh,
// approximate.cuh, mma.cuh, cluster.cuh, dependent_launch.cuh), or define what a solution is
// (export.cuh, solution.cu).
#pragma once

// The compiler of `prenorm emulate` takes these files as host compilers do: for devices they hold
// PTX. It takes attention_wgmma.cu and cublaslt.cu not at all.
#if defined(__PRENORM_EMULATOR__)
#undef __CUDACC__
#endif

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#else
#include "emulator/cuda_language.hpp"
#endif

#include <cstddef>
#include <cstdint>

namespace prenorm::cuda {

/// The block's dynamic shared memory, of the size in the launch, aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char prenorm_dynamic_shared[];
  return reinterpret_cast<T*>(prenorm_dynamic_shared);
#else
  return reinterpret_cast<T*>(emulator::dynamic_shared_memory());
#endif
}

/// The thread's number in a one-dimensional grid. 64 bits: tensors may have over 2^31 elements.
__device__ inline std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// n / d, rounded up.
__host__ __device__ constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

}  // namespace prenorm::cuda
