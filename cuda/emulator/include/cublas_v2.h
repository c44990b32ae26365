// <cublas_v2.h> of the emulator: products of matrices and a few operations of vectors, as plain
// loops on the host. Sums are in double, rounded once, whatever the compute type.
//
// Matrices are by columns. Scalars and results may be in host or device memory, which are one here.
#pragma once

#define CUBLAS_API_H_
#define CUBLAS_V2_H_

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "library_types.h"

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

using cublasHandle_t = struct prenorm_cublas*;
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
const char* cublasGetStatusName(cublasStatus_t status);
inline const char* cublasGetStatusString(cublasStatus_t status) {
  return cublasGetStatusName(status);
}

/// c = alpha op(a) op(b) + beta c for each of `count` products; op(a) is m x k, op(b) k x n. The
/// functions below are this one with fewer parameters.
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* a, cudaDataType a_type, int lda, const void* b,
                                   cudaDataType b_type, int ldb, const void* beta, void* c,
                                   cudaDataType c_type, int ldc, cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, 0, b,
                                    b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute, algorithm);
}

/// As before CUDA 11: the type that is computed in, in place of how.
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* a, cudaDataType a_type, int lda, const void* b,
                                   cudaDataType b_type, int ldb, const void* beta, void* c,
                                   cudaDataType c_type, int ldc, cudaDataType compute,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                      c, c_type, ldc,
                      compute == CUDA_R_64F   ? CUBLAS_COMPUTE_64F
                      : compute == CUDA_R_16F ? CUBLAS_COMPUTE_16F
                                              : CUBLAS_COMPUTE_32F,
                      algorithm);
}

// Copies between the host and the device, every `step`th element of a vector, or columns.
inline cublasStatus_t cublasSetVector(int n, int size, const void* from, int from_step, void* to,
                                      int to_step) {
  const auto bytes = static_cast<std::size_t>(size);
  const cudaError_t error = cudaMemcpy2D(to, bytes * static_cast<std::size_t>(to_step), from,
                                         bytes * static_cast<std::size_t>(from_step), bytes,
                                         static_cast<std::size_t>(n), cudaMemcpyDefault);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}
inline cublasStatus_t cublasGetVector(int n, int size, const void* from, int from_step, void* to,
                                      int to_step) {
  return cublasSetVector(n, size, from, from_step, to, to_step);
}
inline cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void* from, int lda,
                                      void* to, int ldb) {
  const auto bytes = static_cast<std::size_t>(size);
  const cudaError_t error = cudaMemcpy2D(
      to, bytes * static_cast<std::size_t>(ldb), from, bytes * static_cast<std::size_t>(lda),
      bytes * static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), cudaMemcpyDefault);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}
inline cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void* from, int lda,
                                      void* to, int ldb) {
  return cublasSetMatrix(rows, columns, size, from, lda, to, ldb);
}

#define PRENORM_GEMM(letter, T, type, compute)                                                    \
  inline cublasStatus_t cublas##letter##gemmStridedBatched(                                       \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,    \
      int k, const T* alpha, const T* a, int lda, long long stride_a, const T* b, int ldb,        \
      long long stride_b, const T* beta, T* c, int ldc, long long stride_c, int count) {          \
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, type, lda,       \
                                      stride_a, b, type, ldb, stride_b, beta, c, type, ldc,       \
                                      stride_c, count, compute, CUBLAS_GEMM_DEFAULT);             \
  }                                                                                               \
  inline cublasStatus_t cublas##letter##gemm(cublasHandle_t handle, cublasOperation_t transa,     \
                                             cublasOperation_t transb, int m, int n, int k,       \
                                             const T* alpha, const T* a, int lda, const T* b,     \
                                             int ldb, const T* beta, T* c, int ldc) {             \
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, type, lda, b, type, ldb, beta, \
                        c, type, ldc, compute, CUBLAS_GEMM_DEFAULT);                              \
  }
PRENORM_GEMM(S, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
PRENORM_GEMM(D, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
PRENORM_GEMM(H, __half, CUDA_R_16F, CUBLAS_COMPUTE_16F)
#undef PRENORM_GEMM

#define PRENORM_VECTORS(letter, T)                                                              \
  /* y = alpha op(a) x + beta y; a is m x n */                                                  \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t trans, int m,    \
                                      int n, const T* alpha, const T* a, int lda, const T* x,   \
                                      int step_x, const T* beta, T* y, int step_y);             \
  cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, \
                                      int step_x, T* y, int step_y);                            \
  cublasStatus_t cublas##letter##dot(cublasHandle_t handle, int n, const T* x, int step_x,      \
                                     const T* y, int step_y, T* result);                        \
  cublasStatus_t cublas##letter##nrm2(cublasHandle_t handle, int n, const T* x, int step_x,     \
                                      T* result);                                               \
  cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const T* alpha, T* x,       \
                                      int step_x);
PRENORM_VECTORS(S, float)
PRENORM_VECTORS(D, double)
#undef PRENORM_VECTORS
