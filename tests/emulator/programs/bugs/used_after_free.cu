// check: memory
// says: heap-use-after-free, a read of 4 bytes
#include "../check.h"
__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // BUG
}
int main() {
  float *x = on_device(numbers(32)), *y = on_device(numbers(32));
  cudaFree(x);
  copy<<<1, 32>>>(x, y);
  on_host(y, 32);
}
