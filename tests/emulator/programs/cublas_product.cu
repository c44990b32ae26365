// cuBLAS as people call it: matrices in rows through its columns, transposes, a batch with strides,
// half with sums in float. A kernel of ours computes the same.
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include "check.h"

#define CUBLAS_CHECK(call)                                                          \
  do {                                                                              \
    const cublasStatus_t status_ = (call);                                          \
    if (status_ != CUBLAS_STATUS_SUCCESS) {                                         \
      std::fprintf(stderr, "%s:%d: cuBLAS %d\n", __FILE__, __LINE__, int(status_)); \
      std::exit(3);                                                                 \
    }                                                                               \
  } while (0)

// c[m][n] = a[m][k] b[n][k]^T, as the weights of a linear layer lie.
__global__ void linear(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y,
            column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += a[row * k + l] * b[column * k + l];
  c[row * n + column] = sum;
}

int main() {
  const int m = 20, n = 33, k = 17, batch = 3;
  const auto a = numbers(batch * m * k), b = numbers(batch * n * k, 2);
  std::vector<double> right(m * n), plain(m * n), batched(batch * m * n), of_half(m * n);
  std::vector<half> ha, hb;
  for (const float each : a) ha.push_back(__float2half(each));
  for (const float each : b) hb.push_back(__float2half(each));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) {
        right[i * n + j] += double(a[i * k + l]) * b[j * k + l];
        plain[i * n + j] += 2.0 * a[i * k + l] * b[l * n + j];
        of_half[i * n + j] += double(__half2float(ha[i * k + l])) * __half2float(hb[j * k + l]);
        for (int z = 0; z < batch; ++z)
          batched[(z * m + i) * n + j] += double(a[(z * m + i) * k + l]) * b[(z * n + j) * k + l];
      }
  float *d_a = on_device(a), *d_b = on_device(b),
        *d_c = on_device(std::vector<float>(batch * m * n));
  linear<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(d_a, d_b, d_c, m, n, k);
  expect("own", on_host(d_c, m * n), right);

  cublasHandle_t handle;
  cudaStream_t stream;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUDA_CHECK(cudaStreamCreate(&stream));
  CUBLAS_CHECK(cublasSetStream(handle, stream));
  const float one = 1.0f, two = 2.0f, zero = 0.0f;
  // In its columns c^T[n][m] = b[n][k] a[m][k]^T, with b's rows as columns of a k x n matrix.
  CUBLAS_CHECK(
      cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, d_b, k, d_a, k, &zero, d_c, n));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  expect("transposed", on_host(d_c, m * n), right);
  CUBLAS_CHECK(
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &two, d_b, n, d_a, k, &zero, d_c, n));
  expect("plain", on_host(d_c, m * n), plain);
  CUBLAS_CHECK(cublasSgemmStridedBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, d_b, k,
                                         n * k, d_a, k, m * k, &zero, d_c, n, m * n, batch));
  expect("batched", on_host(d_c, batch * m * n), batched);

  CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  half *d_ha = on_device(ha), *d_hb = on_device(hb);
  CUBLAS_CHECK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, d_hb, CUDA_R_16F, k,
                            d_ha, CUDA_R_16F, k, &zero, d_c, CUDA_R_32F, n, CUBLAS_COMPUTE_32F,
                            CUBLAS_GEMM_DEFAULT));
  expect("half", on_host(d_c, m * n), of_half);

  float *d_y = on_device(std::vector<float>(m)), sum = 0;
  CUBLAS_CHECK(cublasSgemv(handle, CUBLAS_OP_T, k, m, &one, d_a, k, d_b, 1, &zero, d_y, 1));
  CUBLAS_CHECK(cublasSaxpy(handle, m, &two, d_a, 1, d_y, 1));
  CUBLAS_CHECK(cublasSdot(handle, m, d_y, 1, d_y, 1, &sum));
  double square = 0;
  for (int i = 0; i < m; ++i) {
    double y = 2.0 * a[i];
    for (int l = 0; l < k; ++l) y += double(a[i * k + l]) * b[l];
    square += y * y;
  }
  expect("vectors", std::vector<float>{sum}, std::vector<double>{square});
  if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, m, k, &one, d_b, n, d_a, k, &zero, d_c,
                  n) != CUBLAS_STATUS_INVALID_VALUE)
    return 5;
  CUBLAS_CHECK(cublasDestroy(handle));
  CUDA_CHECK(cudaStreamDestroy(stream));
}
