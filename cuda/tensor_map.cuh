// Tensors as Hopper's copy engine (TMA) is told of them, on the host.
#pragma once

#include "launch.cuh"
#include "tensor_tiles.cuh"

#include <cuda.h>

#include <type_traits>

namespace prenorm::cuda {

/// The driver's function that encodes tensor maps, or null. Found by the runtime, so that nothing
/// is linked with the driver.
inline decltype(&cuTensorMapEncodeTiled) encoder(const char* what) {
  static const auto found = [what] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &result),
          what);
    return result == cudaDriverEntryPointSuccess ? function : nullptr;
  }();
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
}

/// Describes a tensor to TMA, in boxes of `box_rows` rows and 64 columns. False where the encoder
/// refuses it.
template <class T>
bool make_map(CUtensorMap& map, const T* data, const TensorRows& rows, int box_rows,
              const char* what) {
  const auto encode = encoder(what);
  if (encode == nullptr || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  const auto unsign = [](std::int64_t x) { return static_cast<cuuint64_t>(x); };
  const cuuint64_t extents[] = {unsign(rows.columns), unsign(rows.rows), unsign(rows.parts)};
  const cuuint64_t strides[] = {unsign(rows.stride) * sizeof(T),  // of rows and of parts, in bytes
                                unsign(rows.rows * rows.stride) * sizeof(T)};
  const cuuint32_t box[] = {panel_columns, static_cast<cuuint32_t>(box_rows), 1},
                   ones[] = {1, 1, 1};
  return encode(&map,
                std::is_same_v<T, float16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                           : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                3, const_cast<T*>(data), extents, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/// Whether the current device runs code for sm_90a.
inline bool on_hopper(const char* what) {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), what);
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), what);
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), what);
  return major == 9 && minor == 0;
}

}  // namespace prenorm::cuda
