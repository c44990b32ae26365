// check: none
// says: kernel divide, block (1, 0, 0), thread (3, 0, 0): assert(y[i] != 0) fails
#include <cassert>
#include "../check.h"
__global__ void divide(float* x, const float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(y[i] != 0);  // BUG
  x[i] /= y[i];
}
int main() {
  auto y = numbers(64);
  y[35] = 0;
  divide<<<2, 32>>>(on_device(numbers(64)), on_device(y));
  CUDA_CHECK(cudaDeviceSynchronize());
}
