__global__ void softmax(const float* x, float* y) {
  x += threadIdx.x, y += threadIdx.x;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < 32; ++i) {
    const float value = x[256 * i], next = fmaxf(largest, value);
    sum = sum * expf(largest - next) + expf(value - next);
    largest = next;
  }
  for (int i = 0; i < 32; ++i) y[256 * i] = expf(x[256 * i] - largest) / sum;
}
