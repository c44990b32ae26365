// check: race
// says: no barrier orders these accesses
#include "../check.h"
__global__ void sum(const float* x, float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int d = 16; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];  // BUG
  }
  if (threadIdx.x == 0) *y = s[0];
}
int main() {
  float *x = on_device(numbers(32)), *y = on_device(numbers(1));
  sum<<<1, 32>>>(x, y);
  on_host(y, 1);
}
