__global__ void coalescing(const float* x, float* y) {
  const int first = blockIdx.x * 512 + threadIdx.x;
  for (int k = 0; k < 512; k += 64) y[first + k] = sqrtf(x[first + k]);
}
