// The driver's tensor maps and the runtime's few functions that attention_wgmma.cu calls, for
// test_attention_wgmma.cpp: a map is what it was made from.
#pragma once

#include <cstdint>
#include <string>

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;
using CUresult = int;
using cudaError_t = int;
constexpr CUresult CUDA_SUCCESS = 0;
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 };
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B = 3 };
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_128B };
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE };

struct CUtensorMap {
  char* data;
  cuuint64_t extents[3], strides[2];  // strides in bytes
  cuuint32_t box[3];
};

/// Refuses what the driver refuses (cuda.h says what).
inline CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank,
                                       void* data, const cuuint64_t* extents,
                                       const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t* steps, CUtensorMapInterleave,
                                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                       CUtensorMapFloatOOBfill) {
  bool fits = rank == 3 && swizzle == CU_TENSOR_MAP_SWIZZLE_128B && box[0] * 2 <= 128 &&
              reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && strides[0] >= extents[0] * 2 &&
              strides[1] >= extents[1] * strides[0];
  *map = {static_cast<char*>(data), {}, {}, {}};
  for (int i = 0; i < 3; ++i) {
    fits = fits && extents[i] > 0 && extents[i] <= cuuint64_t{1} << 32 && box[i] > 0 &&
           box[i] <= 256 && steps[i] == 1;
    map->extents[i] = extents[i];
    map->box[i] = box[i];
  }
  for (int i = 0; i < 2; ++i) {
    fits = fits && strides[i] % 16 == 0 && strides[i] < cuuint64_t{1} << 40;
    map->strides[i] = strides[i];
  }
  return fits ? CUDA_SUCCESS : 1;
}

enum { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor };
enum { cudaEnableDefault };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
inline cudaError_t cudaGetDevice(int* device) { return *device = 0; }
inline cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return 0;
}
inline cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult* result) {
  *function = reinterpret_cast<void*>(&cuTensorMapEncodeTiled);
  *result = cudaDriverEntryPointSuccess;
  return 0;
}

namespace prenorm::cuda {
inline void check(cudaError_t, const std::string&) {}
}  // namespace prenorm::cuda
