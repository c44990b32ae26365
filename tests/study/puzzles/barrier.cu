__global__ void barrier(const float* x, float* y) {
  __shared__ float row[64];
  const int t = threadIdx.x;
  row[t] = x[t];
  for (int step = 0; step < 3; ++step) {
    __syncthreads();
    const float mean = (row[(t + 63) % 64] + row[(t + 1) % 64]) / 2;
    __syncthreads();
    row[t] = mean;
  }
  y[t] = row[t];
}
