// cuBLAS on triangular, symmetric and diagonal matrices: a Cholesky solve by two triangles, and
// sums.
#include <cublas_v2.h>

#include "check.h"

#define CUBLAS_CHECK(call) \
  if ((call) != CUBLAS_STATUS_SUCCESS) return 5

int main() {
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  const int n = 3, columns = 2;
  // By columns; above the diagonal nobody looks.
  const std::vector<float> lower{2, 1, 3, 99, 4, -1, 99, 99, 5}, x{1, 2, 3, -1, 0, 4};
  float *l = on_device(lower), *b = on_device(x), *whole = on_device(std::vector<float>(9));
  const float one = 1, none = 0;
  // b = L L^T x, then back.
  float* product = on_device(std::vector<float>(6));
  CUBLAS_CHECK(cublasStrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                           CUBLAS_DIAG_NON_UNIT, n, columns, &one, l, n, b, n, product, n));
  expect("L^T x", on_host(product, 6), std::vector<float>{13, 5, 15, 10, -4, 20}, 0);
  CUBLAS_CHECK(cublasStrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                           CUBLAS_DIAG_NON_UNIT, n, columns, &one, l, n, product, n, product, n));
  for (const auto trans : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    CUBLAS_CHECK(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, trans,
                             CUBLAS_DIAG_NON_UNIT, n, columns, &one, l, n, product, n));
  }
  expect("solved", on_host(product, 6), x, 1e-6);

  // The lower half of x x^T, and products with it as a symmetric matrix.
  CUBLAS_CHECK(cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, columns, &one, b, n,
                           &none, whole, n));
  expect("x x^T", on_host(whole, 9), std::vector<float>{2, 2, -1, 0, 4, 6, 0, 0, 25}, 0);
  CUBLAS_CHECK(cublasSsymm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n, columns, &one,
                           whole, n, b, n, &none, product, n));
  expect("symmetric", on_host(product, 6), std::vector<float>{3, 28, 86, -6, 22, 101}, 0);

  // diag(d) x, and x^T + y^T.
  float* d = on_device(std::vector<float>{10, 1, 0.5f});
  CUBLAS_CHECK(cublasSdgmm(handle, CUBLAS_SIDE_LEFT, n, columns, b, n, d, 1, product, n));
  CUBLAS_CHECK(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_T, columns, n, &one, b, n, &one, product,
                           n, whole, columns));
  expect("transposed", on_host(whole, 6), std::vector<float>{11, -11, 4, 0, 4.5f, 6}, 0);
  CUBLAS_CHECK(cublasDestroy(handle));
}
