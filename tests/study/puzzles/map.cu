__global__ void map(const float* x, float* y) {
  const int i = threadIdx.x;
  y[i] = 2 * x[i];
}
