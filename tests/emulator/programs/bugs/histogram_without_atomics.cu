// check: race
// says: no barrier orders these accesses
#include "../check.h"
__global__ void histogram(const int* x, int* counts) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  own[x[threadIdx.x]]++;  // BUG
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
int main() {
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[i] = i * 7 % 16;
  int* counts = on_device(std::vector<int>(16));
  histogram<<<1, 64>>>(on_device(x), counts);
  on_host(counts, 16);
}
