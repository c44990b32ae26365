__global__ void attention(const float* q, const float* k, const float* v, float* y, int keys) {
  const int i = threadIdx.x;
  float largest = -INFINITY, sum = 0, value = 0, query = q[i];
  for (int j = 0; j < keys; ++j) {
    const float score = dot(query, k[32 * j + i]), next = fmaxf(largest, score);
    const float old = expf(largest - next), weight = expf(score - next);
    sum = sum * old + weight;
    value = value * old + weight * v[32 * j + i];
    largest = next;
  }
  y[i] = value / sum;
}
