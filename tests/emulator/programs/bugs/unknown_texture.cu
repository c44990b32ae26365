// check: init
// says: cudaTextureObject_t (a texture) is not emulated
#include "../check.h"
__global__ void look_up(cudaTextureObject_t texture, float* x) {  // BUG
  x[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
}
int main() { look_up<<<1, 32>>>(0, on_device(numbers(32))); }
