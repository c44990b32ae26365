// check: init
// says: reads 4 bytes that no thread has written, static shared memory
#include "../check.h"
__global__ void halo(const float* x, float* y) {
  __shared__ float s[66];
  s[threadIdx.x + 1] = x[threadIdx.x];
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];  // BUG
}
int main() {
  float *x = on_device(numbers(64)), *y = on_device(numbers(64));
  halo<<<1, 64>>>(x, y);
  on_host(y, 64);
}
