// check: init
// says: __shfl_down_sync reads lane 20, which has returned
#include "../check.h"
__global__ void sum(float* x) {
  float value = x[threadIdx.x];
  if (threadIdx.x < 20) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);  // BUG
  }
  if (threadIdx.x == 0) *x = value;
}
int main() {
  float* x = on_device(numbers(32));
  sum<<<1, 32>>>(x);
  on_host(x, 32);
}
