// Kernels whose threads and blocks wait for each other without a barrier.
#include "check.h"

/// Each block waits for the one after it, which a device runs at the same time.
__global__ void backwards(volatile int* done, int* order) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x + 1 < gridDim.x) {
    while (done[blockIdx.x + 1] == 0) {
    }
  }
  order[blockIdx.x] = atomicAdd(order + gridDim.x, 1);
  __threadfence();
  done[blockIdx.x] = 1;
}

/// A lock that the threads of a block take in turn.
__global__ void locked(int* lock, int* count) {
  for (bool waits = true; waits;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *count += 1;
      __threadfence();
      atomicExch(lock, 0);
      waits = false;
    }
  }
}

int main() {
  int* order = on_device(std::vector<int>(9));
  backwards<<<8, 32>>>(on_device(std::vector<int>(8)), order);
  expect("blocks that wait for later ones", on_host(order, 9),
         std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0, 8}, 0);
  int* count = on_device(std::vector<int>(2));
  locked<<<4, 64>>>(count, count + 1);
  expect("a lock", on_host(count, 2), std::vector<int>{0, 256}, 0);
}
