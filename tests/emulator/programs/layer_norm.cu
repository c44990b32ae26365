// LayerNorm of rows: a block per row with two sums in shared memory, a warp per row with Welford's
// update merged by shuffles, and the gradient of the weights by atomics.
#include "check.h"

struct Moments {
  float count, mean, m2;
};

__device__ Moments merged(const Moments& a, const Moments& b) {
  const float n = a.count + b.count;
  if (n == 0) return a;
  const float delta = b.mean - a.mean;
  return {n, a.mean + delta * b.count / n, a.m2 + b.m2 + delta * delta * a.count * b.count / n};
}

__global__ void by_block(const float* x, const float* weight, const float* bias, float* y, int d,
                         float eps) {
  extern __shared__ float2 sums[];
  const float* row = x + blockIdx.x * d;
  float2 own = make_float2(0.f, 0.f);
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
    own.x += row[i];
    own.y += row[i] * row[i];
  }
  sums[threadIdx.x] = own;
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) {
      sums[threadIdx.x].x += sums[threadIdx.x + stride].x;
      sums[threadIdx.x].y += sums[threadIdx.x + stride].y;
    }
    __syncthreads();
  }
  const float mean = sums[0].x / d, variance = sums[0].y / d - mean * mean;
  const float scale = rsqrtf(variance + eps);
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    y[blockIdx.x * d + i] = (row[i] - mean) * scale * weight[i] + bias[i];
}

__global__ void by_warp(const float* x, const float* weight, const float* bias, float* y,
                        float2* kept, int d, float eps) {
  const float* row = x + blockIdx.x * d;
  Moments own{0, 0, 0};
  for (int i = threadIdx.x; i < d; i += 32) {
    own.count += 1;
    const float delta = row[i] - own.mean;
    own.mean += delta / own.count;
    own.m2 += delta * (row[i] - own.mean);
  }
  for (int bits = 16; bits > 0; bits >>= 1) {
    const Moments other{__shfl_xor_sync(~0u, own.count, bits), __shfl_xor_sync(~0u, own.mean, bits),
                        __shfl_xor_sync(~0u, own.m2, bits)};
    own = merged(own, other);
  }
  const float scale = rsqrtf(own.m2 / d + eps);
  if (threadIdx.x == 0) kept[blockIdx.x] = {own.mean, scale};
  for (int i = threadIdx.x; i < d; i += 32)
    y[blockIdx.x * d + i] = (row[i] - own.mean) * scale * weight[i] + bias[i];
}

__global__ void gradient_of_weight(const float* x, const float* dy, const float2* kept,
                                   float* dweight, int rows, int d) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d) return;
  const int begin = blockIdx.y * 4, end = min(rows, begin + 4);
  float sum = 0;
  for (int r = begin; r < end; ++r) sum += dy[r * d + i] * (x[r * d + i] - kept[r].x) * kept[r].y;
  atomicAdd(&dweight[i], sum);
}

int main() {
  const int rows = 13, d = 100;
  const float eps = 1e-5f;
  const auto x = numbers(rows * d), weight = numbers(d, 2), bias = numbers(d, 3),
             dy = numbers(rows * d, 4);
  std::vector<double> right(rows * d), dweight(d);
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int i = 0; i < d; ++i) mean += x[r * d + i] / double(d);
    for (int i = 0; i < d; ++i) variance += (x[r * d + i] - mean) * (x[r * d + i] - mean) / d;
    for (int i = 0; i < d; ++i) {
      const double normal = (x[r * d + i] - mean) / std::sqrt(variance + eps);
      right[r * d + i] = normal * weight[i] + bias[i];
      dweight[i] += dy[r * d + i] * normal;
    }
  }
  float *d_x = on_device(x), *d_weight = on_device(weight), *d_bias = on_device(bias);
  float *d_y = on_device(std::vector<float>(rows * d)),
        *d_dweight = on_device(std::vector<float>(d));
  float2* kept;
  CUDA_CHECK(cudaMalloc((void**)&kept, rows * sizeof(float2)));
  by_block<<<rows, 64, 64 * sizeof(float2)>>>(d_x, d_weight, d_bias, d_y, d, eps);
  expect("by block", on_host(d_y, rows * d), right);
  by_warp<<<rows, 32>>>(d_x, d_weight, d_bias, d_y, kept, d, eps);
  expect("by warp", on_host(d_y, rows * d), right);
  gradient_of_weight<<<dim3((d + 31) / 32, (rows + 3) / 4), 32>>>(d_x, on_device(dy), kept,
                                                                  d_dweight, rows, d);
  expect("gradient of the weight", on_host(d_dweight, d), dweight);
}
