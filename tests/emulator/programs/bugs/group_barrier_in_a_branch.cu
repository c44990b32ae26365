// check: none
// says: __syncthreads is reached by 48 of 64 threads
#include <cooperative_groups.h>
#include "../check.h"
namespace cg = cooperative_groups;
__global__ void shift(float* x, int n) {
  auto block = cg::this_thread_block();
  if (block.thread_rank() < n) {
    const float next = x[(block.thread_rank() + 1) % n];
    block.sync();  // BUG
    x[block.thread_rank()] = next;
  }
}
int main() {
  float* x = on_device(numbers(64));
  shift<<<1, 64>>>(x, 48);
  on_host(x, 64);
}
