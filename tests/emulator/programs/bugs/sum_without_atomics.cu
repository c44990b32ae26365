// check: race
// says: kernel count
#include "../check.h"
__global__ void count(const int* x, int* sum) {
  *sum += x[blockIdx.x * blockDim.x + threadIdx.x];  // BUG
}
int main() {
  int *x = on_device(std::vector<int>(64, 1)), *sum = on_device(std::vector<int>(1));
  count<<<2, 32>>>(x, sum);
  on_host(sum, 1);
}
