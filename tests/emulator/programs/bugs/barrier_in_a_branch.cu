// check: init
// says: __syncthreads is reached by 40 of 64 threads
#include "../check.h"
__global__ void reverse(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 40) __syncthreads();  // BUG
  x[threadIdx.x] = s[63 - threadIdx.x];
}
int main() {
  float* x = on_device(numbers(64));
  reverse<<<1, 64>>>(x);
  on_host(x, 64);
}
