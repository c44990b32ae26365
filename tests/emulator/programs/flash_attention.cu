// Attention of one head in plain CUDA: tiles of keys and values, a running maximum and sum per row.
#include "check.h"

template <int D, int TILE>
__global__ void flash(const float* q, const float* k, const float* v, float* o, int n,
                      bool causal) {
  __shared__ float K[TILE][D], V[TILE][D];
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const float scale = rsqrtf((float)D);
  float query[D], sum[D] = {};
  for (int d = 0; d < D; ++d) query[d] = row < n ? q[row * D + d] * scale : 0.f;
  float most = -INFINITY, weight = 0;
  for (int first = 0; first < n; first += TILE) {
    for (int i = threadIdx.x; i < TILE * D; i += blockDim.x) {
      const int r = first + i / D;
      (&K[0][0])[i] = r < n ? k[r * D + i % D] : 0;
      (&V[0][0])[i] = r < n ? v[r * D + i % D] : 0;
    }
    __syncthreads();
    for (int j = 0; j < TILE && first + j < n; ++j) {
      if (causal && first + j > row) break;
      float score = 0;
      for (int d = 0; d < D; ++d) score = fmaf(query[d], K[j][d], score);
      const float higher = fmaxf(most, score), shrink = __expf(most - higher);
      const float p = __expf(score - higher);
      weight = weight * shrink + p;
      for (int d = 0; d < D; ++d) sum[d] = sum[d] * shrink + p * V[j][d];
      most = higher;
    }
    __syncthreads();
  }
  if (row < n)
    for (int d = 0; d < D; ++d) o[row * D + d] = sum[d] / weight;
}

int main() {
  const int n = 75, D = 16;
  const auto q = numbers(n * D, 1), k = numbers(n * D, 2), v = numbers(n * D, 3);
  float *dq = on_device(q), *dk = on_device(k), *dv = on_device(v);
  float* d_o = on_device(std::vector<float>(n * D));
  for (const bool causal : {false, true}) {
    std::vector<double> right(n * D);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < (causal ? i + 1 : n); ++j) {
        double score = 0;
        for (int d = 0; d < D; ++d) score += double(q[i * D + d]) * k[j * D + d];
        const double p = std::exp(score / 4);
        sum += p;
        for (int d = 0; d < D; ++d) right[i * D + d] += p * v[j * D + d];
      }
      for (int d = 0; d < D; ++d) right[i * D + d] /= sum;
    }
    flash<D, 32><<<(n + 31) / 32, 32>>>(dq, dk, dv, d_o, n, causal);
    expect(causal ? "causal" : "full", on_host(d_o, n * D), right);
  }
}
