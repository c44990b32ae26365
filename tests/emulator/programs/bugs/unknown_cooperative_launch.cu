// check: init
// says: cudaLaunchCooperativeKernel (a cooperative launch) is not emulated
#include "../check.h"
#include <cooperative_groups.h>
__global__ void everybody(float* x) {
  cooperative_groups::this_grid().sync();
  x[threadIdx.x] += 1;
}
int main() {
  float* x = on_device(numbers(32));
  void* arguments[] = {&x};
  cudaLaunchCooperativeKernel((void*)everybody, dim3(2), dim3(32), arguments, 0, nullptr);  // BUG
}
