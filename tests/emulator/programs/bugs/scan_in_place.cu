// check: race
// says: no barrier orders these accesses
#include "../check.h"
__global__ void scan(float* x) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    if (threadIdx.x >= d) s[threadIdx.x] += s[threadIdx.x - d];  // BUG
    __syncthreads();
  }
  x[threadIdx.x] = s[threadIdx.x];
}
int main() {
  float* x = on_device(numbers(128));
  scan<<<1, 128>>>(x);
  on_host(x, 128);
}
