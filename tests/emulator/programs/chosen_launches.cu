// What programs ask before a launch: occupancy by shared memory that depends on the block,
// attributes of functions, peers, identities of streams and devices.
#include "check.h"

#include <cstring>

__global__ void scaled(float* x, int n, float by) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) x[i] = by * tile[threadIdx.x];
}

int main() {
  int grid = 0, block = 0, blocks = 0, least = 0;
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      &grid, &block, scaled, [](int threads) { return threads * sizeof(float); }));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      &blocks, scaled, block, block * sizeof(float), cudaOccupancyDefault));
  if (grid < 1 || block < 32 || block > 1024 || blocks < 1) return 5;
  cudaFuncAttributes attributes;
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, scaled));
  if (attributes.maxThreadsPerBlock < block || attributes.requiredClusterWidth != 0) return 6;

  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  const cudaUUID_t none = {};
  if (properties.maxTexture1DMipmap < 0 || std::memcmp(&none, &properties.uuid, 0) != 0) return 7;
  int canary = -1;
  CUDA_CHECK(cudaDeviceGetAttribute(&canary, cudaDevAttrCooperativeLaunch, 0));
  unsigned long long number = 0;
  cudaStream_t stream;
  CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &canary));
  CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, least));
  CUDA_CHECK(cudaStreamGetId(stream, &number));
  cudaEvent_t event;
  CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

  const int n = 1000;
  const auto x = numbers(n);
  float* on = on_device(x);
  scaled<<<(n + block - 1) / block, block, block * sizeof(float), stream>>>(on, n, 2);
  CUDA_CHECK(cudaEventRecord(event, stream));
  CUDA_CHECK(cudaEventSynchronize(event));
  std::vector<float> right(n);
  for (int i = 0; i < n; ++i) right[i] = 2 * x[i];
  expect("scaled", on_host(on, n), right, 0);
  CUDA_CHECK(cudaEventDestroy(event));
  CUDA_CHECK(cudaStreamDestroy(stream));
}
