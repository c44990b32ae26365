// printf and assert in kernels, and the macros by which programs watch themselves.
#include <cassert>
#include <cstring>
#include <string>

#include "check.h"

#define DEBUG_PRINT(format, ...) \
  if (threadIdx.x == 0) printf("[block %d] " format "\n", blockIdx.x, ##__VA_ARGS__)

#define RETURN_IF_FAILED(call)                                                   \
  do {                                                                           \
    cudaError_t error_ = (call);                                                 \
    if (error_ != cudaSuccess) {                                                 \
      fprintf(stderr, "%s failed: %s (%s)\n", #call, cudaGetErrorString(error_), \
              cudaGetErrorName(error_));                                         \
      return EXIT_FAILURE;                                                       \
    }                                                                            \
  } while (0)

inline void check_last(const char* file, const int line) {
  const cudaError_t error{cudaGetLastError()};
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
  exit(EXIT_FAILURE);
}
#define CHECK_LAST() check_last(__FILE__, __LINE__)

__device__ int square(int x) {
  assert(x >= 0 && x < 46341);
  return x * x;
}

__global__ void report(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(blockDim.x == 32);
  if (i < n) {
    out[i] = square(in[i]);
    assert(out[i] >= in[i] && "squares of integers are not smaller");
  }
  DEBUG_PRINT("n = %d, first = %d, %.2f %s", n, in[min(i, n - 1)], 0.5, "done");
  DEBUG_PRINT("nothing more");
}

int main() {
  const int n = 50;
  std::vector<int> in(n), right(n);
  for (int i = 0; i < n; ++i) {
    in[i] = i * 3;
    right[i] = 9 * i * i;
  }
  int *d_in = nullptr, *d_out = nullptr;
  RETURN_IF_FAILED(cudaMalloc(&d_in, n * sizeof(int)));
  RETURN_IF_FAILED(cudaMalloc(&d_out, n * sizeof(int)));
  RETURN_IF_FAILED(cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  report<<<2, 32>>>(d_in, d_out, n);
  CHECK_LAST();
  RETURN_IF_FAILED(cudaDeviceSynchronize());
  expect("squares", on_host(d_out, n), right);

  // Errors, and how they are told.
  if (cudaMalloc(&d_out, size_t(1) << 60) != cudaErrorMemoryAllocation) return 5;
  if (cudaGetLastError() != cudaErrorMemoryAllocation) return 6;
  report<<<2, 2048>>>(d_in, d_in, n);
  const cudaError_t error = cudaGetLastError();
  if (std::strcmp(cudaGetErrorName(error), "cudaErrorInvalidConfiguration") != 0) return 7;
  // The emulator goes on: it says what is wrong with the configuration.
  const std::string says = "invalid configuration argument";
  if (std::string(cudaGetErrorString(error)).substr(0, says.size()) != says) return 8;
  if (cudaSetDevice(99) != cudaErrorInvalidDevice) return 9;
  cudaGetLastError();
  RETURN_IF_FAILED(cudaDeviceSynchronize());
}
