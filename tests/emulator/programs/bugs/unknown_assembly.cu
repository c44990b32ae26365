// check: init
// says: asm (inline PTX) is not emulated
#include "../check.h"
__global__ void lane(int* x) {
  int number;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(number));  // BUG
  x[threadIdx.x] = number;
}
int main() { lane<<<1, 32>>>(on_device(std::vector<int>(32))); }
