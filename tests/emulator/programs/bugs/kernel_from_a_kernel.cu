// check: init
// says: which no kernel may here
#include "../check.h"
__global__ void child(int* x) { *x = 1; }
__global__ void parent(int* x) {
  child<<<1, 1>>>(x);  // BUG
}
int main() { parent<<<1, 1>>>(on_device(std::vector<int>(1))); }
