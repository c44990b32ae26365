// <cublasLt.h> of the emulator: its handle, which programs create beside cuBLAS's. Products by
// cuBLASLt are refused by name.
#pragma once

#include "cublas_v2.h"

using cublasLtHandle_t = struct prenorm_cublaslt*;
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
