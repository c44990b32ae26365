// CUDA for every file of this folder: the real one where nvcc compiles, the emulator's where the
// host compiler does. No other file asks which of the two it is, but those that call CUDA's runtime
// (launch.cuh, device_error.cuh, workspace.cuh), its libraries (linear.cu), its intrinsics or PTX
// (types.cuh, mma.cuh, attention_mma.cu), and those that say what a solution is (export.cuh,
// solution.cu).
#pragma once

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

/// The block's dynamic shared memory, aligned to 16 bytes: as much as the launch asked for.
template <class T>
__device__ T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char prenorm_dynamic_shared[];
  return reinterpret_cast<T*>(prenorm_dynamic_shared);
#else
  return reinterpret_cast<T*>(emulator::dynamic_shared_memory());
#endif
}

/// The thread's number among all of a one-dimensional grid. 64 bits: tensors pass 2^31 elements.
__device__ inline std::int64_t global_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// n / d, rounded up.
__host__ __device__ constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

}  // namespace prenorm::cuda
