// check: init
// says: of dynamic shared memory
#include "../check.h"
extern __shared__ double partial[];
__global__ void sum(const double* x, int n, double* y) {
  if (threadIdx.x < n) partial[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];  // BUG
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = partial[0];
}
int main() {
  double *x = on_device(std::vector<double>(50)), *y = on_device(std::vector<double>(1));
  sum<<<1, 64, 64 * sizeof(double)>>>(x, 50, y);
  on_host(y, 1);
}
