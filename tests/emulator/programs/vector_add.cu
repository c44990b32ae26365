// c = a + b, a thread for each element; and the same by a loop with the grid's stride.
#include "check.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void add_by_stride(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    c[i] = a[i] + b[i];
  }
}

int main() {
  const int n = 1000;
  const auto a = numbers(n, 1), b = numbers(n, 2);
  std::vector<float> right(n);
  for (int i = 0; i < n; ++i) right[i] = a[i] + b[i];
  float *d_a = on_device(a), *d_b = on_device(b), *d_c;
  CUDA_CHECK(cudaMalloc(&d_c, n * sizeof(float)));
  const int threads = 128;
  add<<<(n + threads - 1) / threads, threads>>>(d_a, d_b, d_c, n);
  expect("add", on_host(d_c, n), right, 0);
  CUDA_CHECK(cudaMemset(d_c, 0, n * sizeof(float)));
  add_by_stride<<<3, 64>>>(d_a, d_b, d_c, n);
  expect("add_by_stride", on_host(d_c, n), right, 0);
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
}
