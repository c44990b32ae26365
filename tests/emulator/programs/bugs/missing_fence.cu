// check: race
// says: no barrier orders these accesses
#include "../check.h"
__device__ unsigned done;
__global__ void sum_by_last_block(const float* x, float* partial, float* out) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += x[blockIdx.x * 32 + i];
  partial[blockIdx.x] = sum;
  if (atomicAdd(&done, 1u) != gridDim.x - 1) return;
  float all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // BUG
  *out = all;
}
int main() {
  float* out = on_device(numbers(1));
  sum_by_last_block<<<8, 32>>>(on_device(numbers(256)), on_device(numbers(8)), out);
  on_host(out, 1);
}
