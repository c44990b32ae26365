// check: race
// says: no barrier orders these accesses
#include "../check.h"
__global__ void reverse(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[63 - threadIdx.x];  // BUG
}
int main() {
  float* x = on_device(numbers(64));
  reverse<<<1, 64>>>(x);
  on_host(x, 64);
}
