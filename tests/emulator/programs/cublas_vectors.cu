// cuBLAS beyond products: sums and largest elements, rotations, updates by vectors.
#include <cublas_v2.h>

#include "check.h"

#define CUBLAS_CHECK(call) \
  if ((call) != CUBLAS_STATUS_SUCCESS) return 5

int main() {
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const std::vector<float> x{3, -7, 2, 5, -1}, y{1, 2, 3, 4, 5};
  float *of_x = on_device(x), *of_y = on_device(y), sum;
  int largest, smallest;
  CUBLAS_CHECK(cublasSasum(handle, 5, of_x, 1, &sum));
  CUBLAS_CHECK(cublasIsamax(handle, 5, of_x, 1, &largest));
  CUBLAS_CHECK(cublasIsamin(handle, 3, of_x, 2, &smallest));
  expect("by size", std::vector<float>{sum, 1.0f * largest, 1.0f * smallest},
         std::vector<float>{18, 2, 3}, 0);

  const float cosine = 0.6f, sine = 0.8f;
  CUBLAS_CHECK(cublasSrot(handle, 5, of_x, 1, of_y, 1, &cosine, &sine));
  std::vector<float> turned(5), other(5);
  for (int i = 0; i < 5; ++i) {
    turned[i] = 0.6f * x[i] + 0.8f * y[i];
    other[i] = 0.6f * y[i] - 0.8f * x[i];
  }
  expect("turned", on_host(of_x, 5), turned);
  CUBLAS_CHECK(cublasSswap(handle, 5, of_x, 1, of_y, 1));
  CUBLAS_CHECK(cublasScopy(handle, 2, of_y, 2, of_x, 1));  // turned's first and third
  other[0] = turned[0];
  other[1] = turned[2];
  expect("swapped", on_host(of_x, 5), other);

  const int m = 3, n = 2;
  float* a = on_device(std::vector<float>(m * n, 1));
  const float two = 2;
  CUBLAS_CHECK(cublasSger(handle, m, n, &two, of_y, 1, of_x, 1, a, m));
  std::vector<float> right(m * n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) right[j * m + i] = 1 + 2 * turned[i] * other[j];
  }
  expect("an outer product", on_host(a, m * n), right);
  CUBLAS_CHECK(cublasDestroy(handle));
}
