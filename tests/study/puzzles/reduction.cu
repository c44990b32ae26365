__global__ void reduction(const float* x, float* y) {
  __shared__ float sums[256];
  const int t = threadIdx.x;
  sums[t] = x[blockIdx.x * 256 + t];
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (t < step) sums[t] += sums[t + step];
  }
  if (t == 0) y[blockIdx.x] = sums[0];
}
