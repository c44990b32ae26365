// The functions of cuda_runtime_api.h that are more than a line.
#include "include/cuda_runtime_api.h"

#include "bounds.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace prenorm::emulator {

/// What the device on paper has.
constexpr std::size_t device_bytes = std::size_t{8} << 30;

constexpr std::size_t alignment = 256;  // CUDA's

void* allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > device_bytes) return nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // Of exactly this size, so that a step beyond is seen.
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
#elif defined(PRENORM_EMULATOR_WATCHED)
  // With room of nobody's on both sides.
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<char*>(std::aligned_alloc(alignment, rounded + 2 * alignment));
  if (memory == nullptr) return nullptr;
  bounds::allow(memory + alignment, bytes, alignment,
                "an allocation of " + std::to_string(bytes) + " bytes");
  return memory + alignment;
#else
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#endif
}

#if defined(PRENORM_EMULATOR_WATCHED)
void release(void* memory) {
  if (memory == nullptr) return;
  bounds::forbid(memory);
  std::free(static_cast<char*>(memory) - alignment);
}
#else
void release(void* memory) { std::free(memory); }
#endif

void launch_kernel(const char* name, const Shape& shape, const std::function<void()>& body) {
  try {
    run({name, shape.grid, shape.block, shape.shared, 1, shape.at}, body);
  } catch (const std::invalid_argument&) {  // a launch that every device refuses
    remember(cudaErrorInvalidConfiguration);
  }
}

}  // namespace prenorm::emulator

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidSymbol: return "cudaErrorInvalidSymbol";
    case cudaErrorInvalidDevicePointer: return "cudaErrorInvalidDevicePointer";
    case cudaErrorInvalidMemcpyDirection: return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorUnknown: break;
  }
  return "cudaErrorUnknown";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    default: return cudaGetErrorName(error);
  }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return prenorm::emulator::remember(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "prenorm's emulator");
  properties->totalGlobalMem = prenorm::emulator::device_bytes;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = 99 << 10;
  properties->sharedMemPerMultiprocessor = 100 << 10;
  properties->totalConstMem = 64 << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->major = 8;
  properties->minor = 6;
  properties->multiProcessorCount = 16;
  properties->maxThreadsPerMultiProcessor = 1536;
  properties->l2CacheSize = 4 << 20;
  properties->memoryBusWidth = 128;
  properties->clockRate = properties->memoryClockRate = 1000000;
  properties->concurrentKernels = properties->managedMemory = properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  if (const auto error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess) {
    return error;
  }
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = properties.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(properties.sharedMemPerBlock);
      break;
    case cudaDevAttrWarpSize: *value = properties.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = properties.multiProcessorCount; break;
    case cudaDevAttrComputeCapabilityMajor: *value = properties.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = properties.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(properties.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(properties.sharedMemPerBlockOptin);
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind) {
  if (width > to_pitch || width > from_pitch) {
    return prenorm::emulator::remember(cudaErrorInvalidValue);
  }
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(static_cast<char*>(to) + row * to_pitch,
                static_cast<const char*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}

cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(memory, *pitch * height);
}
