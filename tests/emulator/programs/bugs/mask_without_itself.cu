// check: none
// says: which its mask leaves out
#include "../check.h"
__global__ void vote(int* x) {
  if (__any_sync(0x0000ffff, x[threadIdx.x] > 0)) x[threadIdx.x] = 1;  // BUG
}
int main() {
  int* x = on_device(std::vector<int>(32));
  vote<<<1, 32>>>(x);
  on_host(x, 32);
}
