// What a program asks of the device before it launches: properties, attributes, occupancy, leave
// for more than 48 KiB of dynamic shared memory.
#include "check.h"

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = a * x[i] + y[i];
}

// Reverses a row that lies whole in shared memory.
__global__ void reverse(float* x, int n) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = row[n - 1 - i];
}

int main() {
  int devices = 0, device = -1;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  if (devices < 1) return 5;
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaGetDevice(&device));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  printf("%s, %d.%d, %d multiprocessors, %zu MiB\n", properties.name, properties.major,
         properties.minor, properties.multiProcessorCount, properties.totalGlobalMem >> 20);
  int warp = 0, multiprocessors = 0, optin = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (warp != properties.warpSize || multiprocessors != properties.multiProcessorCount) return 6;
  if (properties.maxThreadsPerBlock != 1024 || size_t(optin) != properties.sharedMemPerBlockOptin)
    return 7;

  int least_grid = 0, block = 0, per_multiprocessor = 0;
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&least_grid, &block, saxpy, 0, 0));
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, saxpy, block, 0));
  if (block % warp != 0 || block > 1024 || per_multiprocessor < 1) return 8;
  const double occupancy =
      double(per_multiprocessor) * block / properties.maxThreadsPerMultiProcessor;
  if (occupancy <= 0 || occupancy > 1) return 9;
  cudaFuncAttributes attributes;
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, saxpy));
  if (attributes.maxThreadsPerBlock < block) return 10;

  const int n = 10000;
  const auto x = numbers(n), y = numbers(n, 2);
  std::vector<double> right(n);
  for (int i = 0; i < n; ++i) right[i] = 2.0 * x[i] + y[i];
  float *d_x = on_device(x), *d_y = on_device(y);
  saxpy<<<min(least_grid, (n + block - 1) / block), block>>>(2.0f, d_x, d_y, n);
  expect("saxpy", on_host(d_y, n), right);

  // 15000 floats are more than 48 KiB: refused until the kernel has leave.
  const int wide = 15000;
  const size_t bytes = wide * sizeof(float);
  auto row = numbers(wide, 3);
  float* d_row = on_device(row);
  reverse<<<1, 256, bytes>>>(d_row, wide);
  if (cudaGetLastError() != cudaErrorInvalidValue) return 11;
  CUDA_CHECK(
      cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
  reverse<<<1, 256, bytes>>>(d_row, wide);
  const std::vector<float> reversed(row.rbegin(), row.rend());
  expect("reverse", on_host(d_row, wide), reversed, 0);
  if (cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30) !=
      cudaErrorInvalidValue)
    return 12;
  cudaGetLastError();
}
