// <cuda_runtime.h> of the emulator: CUDA C++ as people write it, on the CPU. The language is in
// emulator/cuda_language.hpp, which the project's own kernels use too; here is the rest of what
// programs use: intrinsics, and the runtime's functions on the host.
//
// What is missing is a compile error. The source must have gone through prenorm-cuda-to-cpp, which
// rewrites launches and __shared__.
#pragma once

#define __PRENORM_EMULATOR__ 1

// What the C library copies and fills is seen where loads and stores are (copies.cpp). First, so
// that all calls in the source have these names.
#if defined(PRENORM_EMULATOR_SEEN)
extern "C" {
void* memcpy(void* to, const void* from, decltype(sizeof 0) bytes) noexcept
    __asm__("prenorm_emulator_memcpy");
void* memmove(void* to, const void* from, decltype(sizeof 0) bytes) noexcept
    __asm__("prenorm_emulator_memmove");
void* memset(void* to, int value, decltype(sizeof 0) bytes) noexcept
    __asm__("prenorm_emulator_memset");
}
#endif

#include "../cuda_language.hpp"
#include "cuda_runtime_api.h"
#include "device_intrinsics.h"

// prenorm-cuda-to-cpp knows where these stand, and __constant__, __managed__ and CUDA's
// __noinline__.
#undef __shared__
#undef __global__
#undef __device__
#undef __host__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __inline__ inline
#define __builtin_assume(condition) static_cast<void>(0)
// NVIDIA's headers define these; helper headers ask for them.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define CUDA_VERSION CUDART_VERSION
