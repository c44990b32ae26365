// check: memory
// says: heap-buffer-overflow, a write of 4 bytes
#include "../check.h"
__global__ void transpose(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const float value = in[y * w + x];
  out[x * w + y] = value;  // BUG
}
int main() {
  const int w = 24, h = 16;
  float* out = on_device(numbers(w * h));
  transpose<<<dim3(3, 2), dim3(8, 8)>>>(on_device(numbers(w * h)), out, w, h);
  on_host(out, w * h);
}
