// A histogram: atomics in global memory, then a private one per block in shared memory.
#include "check.h"

__global__ void histogram(const unsigned char* data, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&bins[data[i]], 1u);
}

__global__ void histogram_private(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned mine[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(mine + data[i], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

int main() {
  const int n = 4000;
  std::vector<unsigned char> data(n);
  std::vector<unsigned> right(256);
  for (int i = 0; i < n; ++i) {
    data[i] = static_cast<unsigned char>(i * i % 251);
    ++right[data[i]];
  }
  auto* d_data = on_device(data);
  for (const bool privately : {false, true}) {
    auto* d_bins = on_device(std::vector<unsigned>(256));
    if (privately)
      histogram_private<<<4, 64>>>(d_data, n, d_bins);
    else
      histogram<<<4, 64>>>(d_data, n, d_bins);
    expect(privately ? "in shared memory" : "in global memory", on_host(d_bins, 256), right, 0);
  }
}
