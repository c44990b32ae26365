// check: init
// says: thread (60, 0, 0) has returned
#include "../check.h"
__global__ void reverse(float* x, int n) {
  __shared__ float s[64];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();  // BUG
  x[threadIdx.x] = s[n - 1 - threadIdx.x];
}
int main() {
  float* x = on_device(numbers(64));
  reverse<<<1, 64>>>(x, 60);
  on_host(x, 64);
}
