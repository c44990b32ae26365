// C = A B: a thread per element, then 16x16 tiles in shared memory; alpha and beta by value.
#include "check.h"

#define TILE 16

__global__ void naive(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0.f;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

template <typename T>
struct Scale {
  T alpha, beta;
};

template <typename T>
__global__ void tiled(const T* A, const T* B, T* C, int M, int N, int K, Scale<T> scale) {
  __shared__ T a[TILE][TILE], b[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
    const int ka = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : T(0);
    b[threadIdx.y][threadIdx.x] = kb < K && col < N ? B[kb * N + col] : T(0);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum = fma(a[threadIdx.y][k], b[k][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = scale.alpha * sum + scale.beta * C[row * N + col];
}

int main() {
  const int M = 45, N = 33, K = 50;
  const auto A = numbers(M * K, 1), B = numbers(K * N, 2);
  std::vector<double> right(M * N);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      for (int k = 0; k < K; ++k) right[i * N + j] += double(A[i * K + k]) * B[k * N + j];
  float *dA = on_device(A), *dB = on_device(B), *dC;
  CUDA_CHECK(cudaMalloc((void**)&dC, M * N * sizeof(float)));
  dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  naive<<<grid, block>>>(dA, dB, dC, M, N, K);
  expect("naive", on_host(dC, M * N), right);
  tiled<float><<<grid, block, 0, 0>>>(dA, dB, dC, M, N, K, Scale<float>{2.f, -1.f});
  expect("tiled", on_host(dC, M * N), right);
  tiled<<<grid, block>>>(dA, dB, dC, M, N, K, Scale<float>{1.f, 0.f});
  expect("tiled, deduced", on_host(dC, M * N), right);
}
