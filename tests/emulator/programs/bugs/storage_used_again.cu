// check: race
// says: no barrier orders these accesses
#include <cub/cub.cuh>
#include "../check.h"
__global__ void mean_and_square(const float* x, float* out) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(x[threadIdx.x]);
  const float square = Reduce(storage).Sum(x[threadIdx.x] * x[threadIdx.x]);  // BUG
  if (threadIdx.x == 0) *out = square - sum * sum / 64;
}
int main() {
  float* out = on_device(numbers(1));
  mean_and_square<<<1, 64>>>(on_device(numbers(64)), out);
  on_host(out, 1);
}
