// check: memory
// says: heap-buffer-overflow, a write of 4 bytes
#include "../check.h"
__global__ void pad(float* x) {
  extern __shared__ float s[];
  s[threadIdx.x + 1] = x[threadIdx.x];  // BUG
  __syncthreads();
  x[threadIdx.x] = s[threadIdx.x];
}
int main() {
  float* x = on_device(numbers(32));
  pad<<<1, 32, 32 * sizeof(float)>>>(x);
  on_host(x, 32);
}
