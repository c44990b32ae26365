// A matrix product in steps: one element for each thread, tiles of shared memory, a column of
// results for each thread, a square of results by vectors of four; each compared with cuBLAS.
#include <cublas_v2.h>
#include <cassert>
#include <stdexcept>
#include <string>
#include "check.h"

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define CUBLAS_CHECK(call)                                               \
  if (cublasStatus_t status_ = (call); status_ != CUBLAS_STATUS_SUCCESS) \
  fprintf(stderr, "cuBLAS: %d\n", int(status_)), exit(3)

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B,
                            float beta, float* C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

template <const uint BLOCKSIZE>
__global__ void sgemm_shared(int M, int N, int K, float alpha, const float* A, const float* B,
                             float beta, float* C) {
  __shared__ float As[BLOCKSIZE * BLOCKSIZE], Bs[BLOCKSIZE * BLOCKSIZE];
  const uint row = threadIdx.x / BLOCKSIZE, col = threadIdx.x % BLOCKSIZE;
  A += blockIdx.x * BLOCKSIZE * K;
  B += blockIdx.y * BLOCKSIZE;
  C += blockIdx.x * BLOCKSIZE * N + blockIdx.y * BLOCKSIZE;
  float tmp = 0.0;
  for (int bk = 0; bk < K; bk += BLOCKSIZE) {
    As[row * BLOCKSIZE + col] = A[row * K + col];
    Bs[row * BLOCKSIZE + col] = B[row * N + col];
    __syncthreads();
    A += BLOCKSIZE;
    B += BLOCKSIZE * N;
    for (int dot = 0; dot < BLOCKSIZE; ++dot)
      tmp += As[row * BLOCKSIZE + dot] * Bs[dot * BLOCKSIZE + col];
    __syncthreads();
  }
  C[row * N + col] = alpha * tmp + beta * C[row * N + col];
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    sgemm_vectorized(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  __shared__ float As[BM * BK];  // transposed
  __shared__ __align__(16) float Bs[BK * BN];
  const uint threads = (BM * BN) / (TM * TN);
  const uint threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  float results[TM * TN] = {0.0};
  float regM[TM], regN[TN];
  for (uint bk = 0; bk < K; bk += BK, A += BK, B += BK * N) {
    for (uint i = threadIdx.x; i < BM * BK / 4; i += threads) {
      const uint row = i / (BK / 4), col = i % (BK / 4);
      float4 tmp = reinterpret_cast<float4*>(&A[row * K + col * 4])[0];
      As[(col * 4 + 0) * BM + row] = tmp.x;
      As[(col * 4 + 1) * BM + row] = tmp.y;
      As[(col * 4 + 2) * BM + row] = tmp.z;
      As[(col * 4 + 3) * BM + row] = tmp.w;
    }
    for (uint i = threadIdx.x; i < BK * BN / 4; i += threads) {
      const uint row = i / (BN / 4), col = i % (BN / 4);
      reinterpret_cast<float4*>(&Bs[row * BN + col * 4])[0] =
          reinterpret_cast<float4*>(&B[row * N + col * 4])[0];
    }
    __syncthreads();
    for (uint dot = 0; dot < BK; ++dot) {
      for (uint i = 0; i < TM; ++i) regM[i] = As[dot * BM + threadRow * TM + i];
      for (uint i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
#pragma unroll
      for (uint m = 0; m < TM; ++m)
#pragma unroll
        for (uint n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (uint m = 0; m < TM; m += 1)
    for (uint n = 0; n < TN; n += 4) {
      float4* const at =
          reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN + n]);
      float4 tmp = *at;
      tmp.x = alpha * results[m * TN + n] + beta * tmp.x;
      tmp.y = alpha * results[m * TN + n + 1] + beta * tmp.y;
      tmp.z = alpha * results[m * TN + n + 2] + beta * tmp.z;
      tmp.w = alpha * results[m * TN + n + 3] + beta * tmp.w;
      *at = tmp;
    }
}

void run_kernel(int number, int M, int N, int K, float alpha, float* A, float* B, float beta,
                float* C, cublasHandle_t handle) {
  switch (number) {
    case 0:
      CUBLAS_CHECK(
          cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, N, A, K, &beta, C, N));
      break;
    case 1: {
      dim3 gridDim(CEIL_DIV(M, 16), CEIL_DIV(N, 16));
      dim3 blockDim(16, 16);
      sgemm_naive<<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 2: {
      dim3 gridDim(CEIL_DIV(M, 16), CEIL_DIV(N, 16));
      sgemm_shared<16><<<gridDim, dim3(16 * 16)>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    case 3: {
      const uint BM = 32, BN = 64, BK = 8, TM = 4, TN = 8;
      assert(M % BM == 0 && N % BN == 0 && K % BK == 0);
      sgemm_vectorized<BM, BN, BK, TM, TN>
          <<<dim3(CEIL_DIV(N, BN), CEIL_DIV(M, BM)), (BM * BN) / (TM * TN)>>>(M, N, K, alpha, A, B,
                                                                              beta, C);
      break;
    }
    default: throw std::invalid_argument("Unknown kernel number");
  }
}

int main() {
  const int M = 64, N = 64, K = 32;
  float *A = on_device(numbers(M * K, 3)), *B = on_device(numbers(K * N, 4)), *C;
  CUDA_CHECK(cudaMalloc((void**)&C, sizeof(float) * M * N));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  std::vector<float> right;
  for (int number = 0; number < 4; ++number) {
    CUDA_CHECK(cudaMemcpy(C, numbers(M * N, 5).data(), sizeof(float) * M * N, cudaMemcpyDefault));
    run_kernel(number, M, N, K, 0.5f, A, B, 3.0f, C, handle);
    const auto now = on_host(C, M * N);
    if (number == 0) right = now;
    expect(("kernel " + std::to_string(number)).c_str(), now, right);
  }
  CUBLAS_CHECK(cublasDestroy(handle));
}
