// check: init
// says: reads 4 bytes that no thread has written
#include "../check.h"
__global__ void blur(const float* in, float* out, int n) {
  __shared__ float tile[64 + 2];
  const int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x + 1;
  tile[t] = i < n ? in[i] : 0.f;
  if (threadIdx.x == 0 && i > 0) tile[0] = in[i - 1];
  if (threadIdx.x == 63) tile[65] = i + 1 < n ? in[i + 1] : 0.f;
  __syncthreads();
  if (i < n) out[i] = (tile[t - 1] + tile[t] + tile[t + 1]) / 3;  // BUG
}
int main() {
  float* out = on_device(numbers(100));
  blur<<<2, 64>>>(on_device(numbers(100)), out, 100);
  on_host(out, 100);
}
