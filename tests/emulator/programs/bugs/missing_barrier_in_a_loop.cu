// check: race
// says: no barrier orders these accesses
#include "../check.h"
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float A[8][8], B[8][8];
  float sum = 0;
  for (int t = 0; t < n; t += 8) {
    A[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + t + threadIdx.x];
    B[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 8; ++k) sum += A[threadIdx.y][k] * B[k][threadIdx.x];  // BUG
  }
  c[threadIdx.y * n + threadIdx.x] = sum;
}
int main() {
  float *a = on_device(numbers(256)), *b = on_device(numbers(256)), *c = on_device(numbers(256));
  product<<<1, dim3(8, 8)>>>(a, b, c, 16);
  on_host(c, 256);
}
