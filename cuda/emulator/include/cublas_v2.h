// <cublas_v2.h> of the emulator: vectors, products and systems of real matrices, as plain
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
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};
enum cublasOperation_t {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2,
  CUBLAS_OP_HERMITAN = 2,
  CUBLAS_OP_CONJG = 3,
};
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER, CUBLAS_FILL_MODE_FULL };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_ATOMICS_ALLOWED };
using cublasDataType_t = cudaDataType;
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
};
// All the same here.
enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_ALGO1,
  CUBLAS_GEMM_ALGO2,
  CUBLAS_GEMM_ALGO3,
  CUBLAS_GEMM_ALGO4,
  CUBLAS_GEMM_ALGO5,
  CUBLAS_GEMM_ALGO6,
  CUBLAS_GEMM_ALGO7,
  CUBLAS_GEMM_ALGO8,
  CUBLAS_GEMM_ALGO9,
  CUBLAS_GEMM_ALGO10,
  CUBLAS_GEMM_ALGO11,
  CUBLAS_GEMM_ALGO12,
  CUBLAS_GEMM_ALGO13,
  CUBLAS_GEMM_ALGO14,
  CUBLAS_GEMM_ALGO15,
  CUBLAS_GEMM_ALGO16,
  CUBLAS_GEMM_ALGO17,
  CUBLAS_GEMM_ALGO18,
  CUBLAS_GEMM_ALGO19,
  CUBLAS_GEMM_ALGO20,
  CUBLAS_GEMM_ALGO21,
  CUBLAS_GEMM_ALGO22,
  CUBLAS_GEMM_ALGO23,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
  CUBLAS_GEMM_ALGO1_TENSOR_OP,
  CUBLAS_GEMM_ALGO2_TENSOR_OP,
  CUBLAS_GEMM_ALGO3_TENSOR_OP,
  CUBLAS_GEMM_ALGO4_TENSOR_OP,
  CUBLAS_GEMM_ALGO5_TENSOR_OP,
  CUBLAS_GEMM_ALGO6_TENSOR_OP,
  CUBLAS_GEMM_ALGO7_TENSOR_OP,
  CUBLAS_GEMM_ALGO8_TENSOR_OP,
  CUBLAS_GEMM_ALGO9_TENSOR_OP,
  CUBLAS_GEMM_ALGO10_TENSOR_OP,
  CUBLAS_GEMM_ALGO11_TENSOR_OP,
  CUBLAS_GEMM_ALGO12_TENSOR_OP,
  CUBLAS_GEMM_ALGO13_TENSOR_OP,
  CUBLAS_GEMM_ALGO14_TENSOR_OP,
  CUBLAS_GEMM_ALGO15_TENSOR_OP,
  CUBLAS_GEMM_AUTOTUNE = 999,
};
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VER_BUILD 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)

using cublasHandle_t = struct prenorm_cublas*;
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
inline cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetProperty(libraryPropertyType property, int* value) {
  *value = property == MAJOR_VERSION ? CUBLAS_VER_MAJOR : 0;
  return CUBLAS_STATUS_SUCCESS;
}
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

/// Of products whose matrices lie anywhere: a, b and c are arrays of pointers.
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb,
                                   const void* beta, void* const c[], cudaDataType c_type, int ldc,
                                   int count, cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm);

// As before CUDA 11: the type that is computed in, in place of how.
inline cublasComputeType_t prenorm_compute(cudaDataType type) {
  return type == CUDA_R_64F   ? CUBLAS_COMPUTE_64F
         : type == CUDA_R_16F ? CUBLAS_COMPUTE_16F
                              : CUBLAS_COMPUTE_32F;
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* a, cudaDataType a_type, int lda, const void* b,
                                   cudaDataType b_type, int ldb, const void* beta, void* c,
                                   cudaDataType c_type, int ldc, cudaDataType compute,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                      c, c_type, ldc, prenorm_compute(compute), algorithm);
}
inline cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* const a[],
                                          cudaDataType a_type, int lda, const void* const b[],
                                          cudaDataType b_type, int ldb, const void* beta,
                                          void* const c[], cudaDataType c_type, int ldc, int count,
                                          cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb,
                             beta, c, c_type, ldc, count, prenorm_compute(compute), algorithm);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType a_type, int lda, long long stride_a,
    const void* b, cudaDataType b_type, int ldb, long long stride_b, const void* beta, void* c,
    cudaDataType c_type, int ldc, long long stride_c, int count, cudaDataType compute,
    cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda,
                                    stride_a, b, b_type, ldb, stride_b, beta, c, c_type, ldc,
                                    stride_c, count, prenorm_compute(compute), algorithm);
}
inline cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                    cublasOperation_t transb, int m, int n, int k,
                                    const float* alpha, const void* a, cudaDataType a_type, int lda,
                                    const void* b, cudaDataType b_type, int ldb, const float* beta,
                                    void* c, cudaDataType c_type, int ldc) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                      c, c_type, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
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

inline cublasStatus_t cublasSetVectorAsync(int n, int size, const void* from, int from_step,
                                           void* to, int to_step, cudaStream_t) {
  return cublasSetVector(n, size, from, from_step, to, to_step);
}
inline cublasStatus_t cublasGetVectorAsync(int n, int size, const void* from, int from_step,
                                           void* to, int to_step, cudaStream_t) {
  return cublasSetVector(n, size, from, from_step, to, to_step);
}
inline cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int size, const void* from,
                                           int lda, void* to, int ldb, cudaStream_t) {
  return cublasSetMatrix(rows, columns, size, from, lda, to, ldb);
}
inline cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int size, const void* from,
                                           int lda, void* to, int ldb, cudaStream_t) {
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
  inline cublasStatus_t cublas##letter##gemmBatched(                                              \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,    \
      int k, const T* alpha, const T* const a[], int lda, const T* const b[], int ldb,            \
      const T* beta, T* const c[], int ldc, int count) {                                          \
    return cublasGemmBatchedEx(                                                                   \
        handle, transa, transb, m, n, k, alpha, reinterpret_cast<const void* const*>(a), type,    \
        lda, reinterpret_cast<const void* const*>(b), type, ldb, beta,                            \
        reinterpret_cast<void* const*>(c), type, ldc, count, compute, CUBLAS_GEMM_DEFAULT);       \
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

#define PRENORM_VECTORS(letter, small, T)                                                          \
  /* y = alpha op(a) x + beta y; a is m x n */                                                     \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t trans, int m,       \
                                      int n, const T* alpha, const T* a, int lda, const T* x,      \
                                      int step_x, const T* beta, T* y, int step_y);                \
  cublasStatus_t cublas##letter##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x,    \
                                      int step_x, T* y, int step_y);                               \
  cublasStatus_t cublas##letter##dot(cublasHandle_t handle, int n, const T* x, int step_x,         \
                                     const T* y, int step_y, T* result);                           \
  cublasStatus_t cublas##letter##nrm2(cublasHandle_t handle, int n, const T* x, int step_x,        \
                                      T* result);                                                  \
  cublasStatus_t cublas##letter##asum(cublasHandle_t handle, int n, const T* x, int step_x,        \
                                      T* result);                                                  \
  cublasStatus_t cublas##letter##copy(cublasHandle_t handle, int n, const T* x, int step_x, T* y,  \
                                      int step_y);                                                 \
  cublasStatus_t cublas##letter##swap(cublasHandle_t handle, int n, T* x, int step_x, T* y,        \
                                      int step_y);                                                 \
  /* a rotation of both */                                                                         \
  cublasStatus_t cublas##letter##rot(cublasHandle_t handle, int n, T* x, int step_x, T* y,         \
                                     int step_y, const T* cosine, const T* sine);                  \
  /* a += alpha x y^T */                                                                           \
  cublasStatus_t cublas##letter##ger(cublasHandle_t handle, int m, int n, const T* alpha,          \
                                     const T* x, int step_x, const T* y, int step_y, T* a,         \
                                     int lda);                                                     \
  /* y = alpha a x + beta y; a is symmetric */                                                     \
  cublasStatus_t cublas##letter##symv(cublasHandle_t handle, cublasFillMode_t uplo, int n,         \
                                      const T* alpha, const T* a, int lda, const T* x, int step_x, \
                                      const T* beta, T* y, int step_y);                            \
  /* a += alpha x x^T */                                                                           \
  cublasStatus_t cublas##letter##syr(cublasHandle_t handle, cublasFillMode_t uplo, int n,          \
                                     const T* alpha, const T* x, int step_x, T* a, int lda);       \
  /* x = op(a) x; a is triangular */                                                               \
  cublasStatus_t cublas##letter##trmv(cublasHandle_t handle, cublasFillMode_t uplo,                \
                                      cublasOperation_t trans, cublasDiagType_t diag, int n,       \
                                      const T* a, int lda, T* x, int step_x);                      \
  /* op(a) x = x, solved */                                                                        \
  cublasStatus_t cublas##letter##trsv(cublasHandle_t handle, cublasFillMode_t uplo,                \
                                      cublasOperation_t trans, cublasDiagType_t diag, int n,       \
                                      const T* a, int lda, T* x, int step_x);                      \
  /* c = alpha op(a) op(a)^T + beta c */                                                           \
  cublasStatus_t cublas##letter##syrk(cublasHandle_t handle, cublasFillMode_t uplo,                \
                                      cublasOperation_t trans, int n, int k, const T* alpha,       \
                                      const T* a, int lda, const T* beta, T* c, int ldc);          \
  /* c = alpha a b + beta c, or b a */                                                             \
  cublasStatus_t cublas##letter##symm(                                                             \
      cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n,           \
      const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc);     \
  /* c = alpha op(a) b, or b op(a) */                                                              \
  cublasStatus_t cublas##letter##trmm(cublasHandle_t handle, cublasSideMode_t side,                \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                      const T* a, int lda, const T* b, int ldb, T* c, int ldc);    \
  /* op(a) x = alpha b, or x op(a), solved in place */                                             \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t handle, cublasSideMode_t side,                \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, int m, int n, const T* alpha,         \
                                      const T* a, int lda, T* b, int ldb);                         \
  /* c = alpha op(a) + beta op(b) */                                                               \
  cublasStatus_t cublas##letter##geam(                                                             \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,     \
      const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc);     \
  /* c = diag(x) a, or a diag(x) */                                                                \
  cublasStatus_t cublas##letter##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n,  \
                                      const T* a, int lda, const T* x, int step_x, T* c, int ldc); \
  /* of the largest, from 1 on */                                                                  \
  cublasStatus_t cublasI##small##amax(cublasHandle_t handle, int n, const T* x, int step_x,        \
                                      int* result);                                                \
  /* of the smallest, from 1 on */                                                                 \
  cublasStatus_t cublasI##small##amin(cublasHandle_t handle, int n, const T* x, int step_x,        \
                                      int* result);                                                \
  cublasStatus_t cublas##letter##scal(cublasHandle_t handle, int n, const T* alpha, T* x,          \
                                      int step_x);
PRENORM_VECTORS(S, s, float)
PRENORM_VECTORS(D, d, double)
#undef PRENORM_VECTORS
