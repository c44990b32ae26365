// Products of matrices that lie anywhere: arrays of pointers on the device, in float and half.
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include "check.h"

#define CUBLAS_CHECK(call) \
  if ((call) != CUBLAS_STATUS_SUCCESS) return 5

int main() {
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const int n = 2, count = 3;
  std::vector<float*> a, b, c;
  for (int z = 0; z < count; ++z) {
    a.push_back(on_device(std::vector<float>{1, 0, 1.0f * z, 1}));
    b.push_back(on_device(std::vector<float>{2, 3, 5, 7}));
    c.push_back(on_device(std::vector<float>(4, 100)));
  }
  float **of_a = on_device(a), **of_b = on_device(b), **of_c = on_device(c);
  const float one = 1, half_of = 0.5f;
  CUBLAS_CHECK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, of_a, n, of_b, n,
                                  &half_of, of_c, n, count));
  for (int z = 0; z < count; ++z) {
    expect("of float", on_host(c[z], 4), std::vector<float>{52 + 3.0f * z, 53, 55 + 7.0f * z, 57},
           0);
  }

  const std::vector<__half> halves{__half(1.5f), __half(2.0f), __half(-1.0f), __half(4.0f)};
  __half* h = on_device(halves);
  float* sums = on_device(std::vector<float>(4));
  const void** in = on_device(std::vector<const void*>{h});
  void** out = on_device(std::vector<void*>{sums});
  const float none = 0;
  CUBLAS_CHECK(cublasGemmBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, in, CUDA_R_16F,
                                   n, in, CUDA_R_16F, n, &none, out, CUDA_R_32F, n, 1,
                                   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  expect("of half", on_host(sums, 4), std::vector<float>{6.25f, 6.5f, 6.5f, 17}, 0);
  CUBLAS_CHECK(cublasDestroy(handle));
}
