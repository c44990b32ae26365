// check: memory
// says: a write of 4 bytes; the address is located 0 bytes to the right of 400-byte region
#include "../check.h"
__global__ void fill(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = i;  // BUG
}
int main() {
  float* x = on_device(numbers(100));
  fill<<<2, 64>>>(x, 100);
  on_host(x, 100);
}
