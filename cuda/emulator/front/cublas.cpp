// cuBLAS as plain loops: what include/cublas_v2.h declares.
#include "include/cublas_v2.h"

#include "bounds.hpp"
#include "vectors.hpp"

#include <cmath>
#include <vector>

struct prenorm_cublas {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace {

double value_at(const void* values, cudaDataType type, long long at) {
  switch (type) {
    case CUDA_R_64F: return static_cast<const double*>(values)[at];
    case CUDA_R_16F: return static_cast<const __half*>(values)[at].wide();
    case CUDA_R_16BF: return static_cast<const __nv_bfloat16*>(values)[at].wide();
    default: break;  // CUDA_R_32F
  }
  return static_cast<double>(static_cast<const float*>(values)[at]);
}

void set_value(void* values, cudaDataType type, long long at, double value) {
  switch (type) {
    case CUDA_R_64F: static_cast<double*>(values)[at] = value; return;
    case CUDA_R_16F: static_cast<__half*>(values)[at] = __half(value); return;
    case CUDA_R_16BF: static_cast<__nv_bfloat16*>(values)[at] = __nv_bfloat16(value); return;
    default: static_cast<float*>(values)[at] = static_cast<float>(value);
  }
}

/// Elements from `at` on: nobody else says that they are written.
void note_written(const void* values, cudaDataType type, long long at, long long count) {
  const long long bytes = type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
  prenorm::emulator::bounds::wrote(static_cast<const char*>(values) + at * bytes,
                                   static_cast<std::size_t>(count * bytes));
}

/// A matrix by columns, or the transpose of one.
struct Matrix {
  const void* values;
  cudaDataType type;
  int stride;
  bool transposed;
  long long begin;

  double operator()(int row, int column) const {
    const int major = transposed ? row : column, minor = transposed ? column : row;
    return value_at(values, type, begin + static_cast<long long>(major) * stride + minor);
  }
};

/// The type of alpha and beta.
cudaDataType scalar_type(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return CUDA_R_64F;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return CUDA_R_16F;
    default: return CUDA_R_32F;
  }
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new prenorm_cublas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = handle->pointers;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unknown status";
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool plain_a = transa == CUBLAS_OP_N, plain_b = transb == CUBLAS_OP_N;
  if (m < 0 || n < 0 || k < 0 || count < 0 || lda < std::max(1, plain_a ? m : k) ||
      ldb < std::max(1, plain_b ? k : n) || ldc < std::max(1, m)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const prenorm::emulator::bounds::Open device_memory;
  const double factor = value_at(alpha, scalar_type(compute), 0);
  const double kept = value_at(beta, scalar_type(compute), 0);
  for (int z = 0; z < count; ++z) {
    const Matrix of_a{a, a_type, lda, !plain_a, z * stride_a};
    const Matrix of_b{b, b_type, ldb, !plain_b, z * stride_b};
    std::vector<double> column(static_cast<std::size_t>(m));
    for (int j = 0; j < n; ++j) {
      column.assign(column.size(), 0);
      for (int l = 0; l < k; ++l) {
        const double by = of_b(l, j);
        for (int i = 0; i < m; ++i) column[static_cast<std::size_t>(i)] += of_a(i, l) * by;
      }
      for (int i = 0; i < m; ++i) {
        const long long at = z * stride_c + static_cast<long long>(j) * ldc + i;
        // Without beta what was there is not read: it may be NaN.
        const double before = kept == 0 ? 0 : kept * value_at(c, c_type, at);
        set_value(c, c_type, at, factor * column[static_cast<std::size_t>(i)] + before);
      }
      note_written(c, c_type, z * stride_c + static_cast<long long>(j) * ldc, m);
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb,
                                   const void* beta, void* const c[], cudaDataType c_type, int ldc,
                                   int count, cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm) {
  const auto at = [](const auto* pointers, int z) {  // they may lie on the device
    const prenorm::emulator::bounds::Open device_memory;
    return pointers[z];
  };
  for (int z = 0; z < count; ++z) {
    const cublasStatus_t status =
        cublasGemmEx(handle, transa, transb, m, n, k, alpha, at(a, z), a_type, lda, at(b, z),
                     b_type, ldb, beta, at(c, z), c_type, ldc, compute, algorithm);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

template <class T>
double dot(int n, const T* x, int step_x, const T* y, int step_y) {
  const Vector<const T> of_x(x, n, step_x), of_y(y, n, step_y);
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += static_cast<double>(of_x[i]) * static_cast<double>(of_y[i]);
  }
  return sum;
}

template <class T>
void multiply(bool transposed, int m, int n, T alpha, const T* a, int lda, const T* x, int step_x,
              T beta, T* y, int step_y) {
  const int rows = transposed ? n : m, columns = transposed ? m : n;
  const Vector<T> to(y, rows, step_y);
  for (int i = 0; i < rows; ++i) {
    const T* row = transposed ? a + std::ptrdiff_t{i} * lda : a + i;
    const Vector<const T> of_x(x, columns, step_x);
    double sum = 0;
    for (int j = 0; j < columns; ++j) {
      sum += static_cast<double>(row[transposed ? std::ptrdiff_t{j} : std::ptrdiff_t{j} * lda]) *
             static_cast<double>(of_x[j]);
    }
    const double before = beta == T(0) ? 0 : static_cast<double>(beta) * static_cast<double>(to[i]);
    to[i] = static_cast<T>(static_cast<double>(alpha) * sum + before);
  }
  note_written(to, rows);
}

}  // namespace

#define PRENORM_VECTORS(letter, T)                                                                 \
  cublasStatus_t cublas##letter##gemv(cublasHandle_t, cublasOperation_t trans, int m, int n,       \
                                      const T* alpha, const T* a, int lda, const T* x, int step_x, \
                                      const T* beta, T* y, int step_y) {                           \
    if (m < 0 || n < 0 || lda < std::max(1, m)) return CUBLAS_STATUS_INVALID_VALUE;                \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    multiply(trans != CUBLAS_OP_N, m, n, *alpha, a, lda, x, step_x, *beta, y, step_y);             \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##axpy(cublasHandle_t, int n, const T* alpha, const T* x,           \
                                      int step_x, T* y, int step_y) {                              \
    const Vector<const T> of_x(x, n, step_x);                                                      \
    const Vector<T> to(y, n, step_y);                                                              \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    for (int i = 0; i < n; ++i) to[i] += *alpha * of_x[i];                                         \
    note_written(to, n);                                                                           \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##dot(cublasHandle_t, int n, const T* x, int step_x, const T* y,    \
                                     int step_y, T* result) {                                      \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    *result = static_cast<T>(dot(n, x, step_x, y, step_y));                                        \
    prenorm::emulator::bounds::wrote(result, sizeof *result);                                      \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##nrm2(cublasHandle_t, int n, const T* x, int step_x, T* result) {  \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    *result = static_cast<T>(std::sqrt(dot(n, x, step_x, x, step_x)));                             \
    prenorm::emulator::bounds::wrote(result, sizeof *result);                                      \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##letter##scal(cublasHandle_t, int n, const T* alpha, T* x, int step_x) {   \
    const Vector<T> to(x, n, step_x);                                                              \
    const prenorm::emulator::bounds::Open device_memory;                                           \
    for (int i = 0; i < n; ++i) to[i] *= *alpha;                                                   \
    note_written(to, n);                                                                           \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }
PRENORM_VECTORS(S, float)
PRENORM_VECTORS(D, double)
