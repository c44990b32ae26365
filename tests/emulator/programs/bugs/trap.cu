// check: init
// says: thread (7, 0, 0): __trap()
#include "../check.h"
__global__ void positive(const int* x) {
  if (x[threadIdx.x] < 0) __trap();  // BUG
}
int main() {
  std::vector<int> values(32, 1);
  values[7] = -1;
  positive<<<1, 32>>>(on_device(values));
}
