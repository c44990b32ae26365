// A step of training: an embedding's rows and their gradient, GELU forward and backward, the norm
// of a gradient, AdamW.
#include "check.h"

__global__ void embed(const int* tokens, const float* table, float* out, int count, int d) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * d) out[i] = table[tokens[i / d] * d + i % d];
}
__global__ void embed_backward(const int* tokens, const float* dout, float* dtable, int d) {
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    atomicAdd(&dtable[tokens[blockIdx.x] * d + i], dout[blockIdx.x * d + i]);
}

#define GELU_SCALE sqrtf(2.0f / M_PI)
__global__ void gelu(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(GELU_SCALE * (x + 0.044715f * x * x * x)));
}
__global__ void gelu_backward(const float* in, const float* dout, float* din, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i], t = tanhf(GELU_SCALE * (x + 0.044715f * x * x * x));
  const float slope = (1 - t * t) * GELU_SCALE * (1 + 3 * 0.044715f * x * x);
  din[i] = dout[i] * (0.5f * (1 + t) + 0.5f * x * slope);
}

__global__ void sum_of_squares(const float* x, int n, float* result) {
  __shared__ float warps[8];
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i] * x[i];
  for (int d = 16; d > 0; d >>= 1) own += __shfl_down_sync(0xffffffff, own, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x < 32) {
    own = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
    for (int d = 4; d > 0; d >>= 1) own += __shfl_xor_sync(0xffffffff, own, d);
    if (threadIdx.x == 0) atomicAdd(result, own);
  }
}

struct AdamW {
  float rate, beta1, beta2, eps, decay;
  int step;
};
__global__ void adamw(float* __restrict__ w, const float* __restrict__ g, float* __restrict__ m,
                      float* __restrict__ v, int n, const AdamW o, const float* norm, float most) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float clip = fminf(1.0f, most / (sqrtf(*norm) + 1e-6f));
  const float grad = clip * g[i];
  m[i] = fmaf(o.beta1, m[i], (1.0f - o.beta1) * grad);
  v[i] = fmaf(o.beta2, v[i], (1.0f - o.beta2) * grad * grad);
  const float mean = m[i] / (1.0f - powf(o.beta1, o.step));
  const float variance = v[i] / (1.0f - powf(o.beta2, o.step));
  w[i] -= o.rate * (mean / (sqrtf(variance) + o.eps) + o.decay * w[i]);
}

int main() {
  const int vocabulary = 11, d = 24, count = 30, n = count * d, size = vocabulary * d;
  const auto table = numbers(size), dout = numbers(n, 2);
  std::vector<int> tokens(count);
  for (int i = 0; i < count; ++i) tokens[i] = i * i % vocabulary;
  std::vector<double> activated(n), dtable(size), weights(size);
  double squares = 0;
  const double scale = std::sqrt(2 / M_PI);
  for (int i = 0; i < n; ++i) {
    const int at = tokens[i / d] * d + i % d;
    const double x = table[at], t = std::tanh(scale * (x + 0.044715 * x * x * x));
    activated[i] = 0.5 * x * (1 + t);
    dtable[at] +=
        dout[i] * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x));
  }
  for (const double each : dtable) squares += each * each;
  const AdamW o{0.01f, 0.9f, 0.99f, 1e-8f, 0.1f, 1};
  const double clip = std::min(1.0, 1.0 / (std::sqrt(squares) + 1e-6));
  for (int i = 0; i < size; ++i) {
    const double g = clip * dtable[i];  // the first step's moments are g and g^2
    weights[i] = table[i] - 0.01 * (g / (std::fabs(g) + 1e-8) + 0.1 * table[i]);
  }

  const int* d_tokens = on_device(tokens);
  float *w = on_device(table), *x = on_device(std::vector<float>(n)), *y = on_device(dout);
  float *dx = on_device(std::vector<float>(n)), *g = on_device(std::vector<float>(size));
  float *m = on_device(std::vector<float>(size)), *v = on_device(std::vector<float>(size));
  float* norm = on_device(std::vector<float>(1));
  embed<<<(n + 127) / 128, 128>>>(d_tokens, w, x, count, d);
  gelu_backward<<<(n + 127) / 128, 128>>>(x, y, dx, n);
  gelu<<<(n + 127) / 128, 128>>>(x, y, n);
  expect("activations", on_host(y, n), activated);
  embed_backward<<<count, 32>>>(d_tokens, dx, g, d);
  expect("gradient", on_host(g, size), dtable);
  sum_of_squares<<<2, 128>>>(g, size, norm);
  expect("norm", on_host(norm, 1), std::vector<double>{squares});
  adamw<<<(size + 63) / 64, 64>>>(w, g, m, v, size, o, norm, 1.0f);
  expect("weights", on_host(w, size), weights, 1e-4);
}
