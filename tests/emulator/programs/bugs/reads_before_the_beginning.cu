// check: memory
// says: a read of 4 bytes
#include "../check.h"
__global__ void difference(const float* x, float* y) {
  const int i = threadIdx.x;
  y[i] = x[i] - x[i - 1];  // BUG
}
int main() {
  float *x = on_device(numbers(32)), *y = on_device(numbers(32));
  difference<<<1, 32>>>(x, y);
  on_host(y, 32);
}
