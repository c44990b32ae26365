// Statistics of rows in one pass: means and variances by Welford's formula, softmax by maximum and
// sum together; structures that shuffles take apart, results in order by float2 and float4.
#include "check.h"

struct __align__(16) Moments {
  float mean, m2, count, unused;
};

__device__ Moments combined(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  if (count == 0) return a;
  const float delta = b.mean - a.mean, part = b.count / count;
  return {a.mean + delta * part, a.m2 + b.m2 + delta * delta * a.count * part, count, 0};
}

template <class T>
__device__ T shuffled(T value, int by) {
  static_assert(sizeof(T) % sizeof(int) == 0, "whole words");
  int* const words = reinterpret_cast<int*>(&value);
#pragma unroll
  for (size_t i = 0; i < sizeof(T) / sizeof(int); ++i)
    words[i] = __shfl_xor_sync(0xffffffffu, words[i], by);
  return value;
}

template <int WIDTH, class T, class Op>
__device__ T reduced(T value, Op op) {
#pragma unroll
  for (int by = WIDTH / 2; by >= 1; by >>= 1) value = op(value, shuffled(value, by));
  return value;
}

__global__ void layer_norm(const float4* __restrict__ x, float4* __restrict__ y,
                           float2* __restrict__ statistics, int fours, float eps) {
  __shared__ Moments of_warps[4];
  const float4* const row = x + blockIdx.x * fours;
  Moments own = {};
  for (int i = threadIdx.x; i < fours; i += blockDim.x) {
    const float4 v = __ldg(&row[i]);
    for (const float each : {v.x, v.y, v.z, v.w}) {
      own.count += 1;
      const float delta = each - own.mean;
      own.mean += delta / own.count;
      own.m2 += delta * (each - own.mean);
    }
  }
  own = reduced<32>(own, combined);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  own = of_warps[0];
  for (int w = 1; w < blockDim.x / 32; ++w) own = combined(own, of_warps[w]);
  const float scale = rsqrtf(own.m2 / own.count + eps);
  for (int i = threadIdx.x; i < fours; i += blockDim.x) {
    float4 v = row[i];
    v.x = (v.x - own.mean) * scale, v.y = (v.y - own.mean) * scale;
    v.z = (v.z - own.mean) * scale, v.w = (v.w - own.mean) * scale;
    __stcs(&y[blockIdx.x * fours + i], v);
  }
  if (threadIdx.x == 0) statistics[blockIdx.x] = make_float2(own.mean, own.m2 / own.count);
}

/// Four rows for each warp: eight lanes a row.
__global__ void softmax(const float* x, float* y, int rows, int columns) {
  struct Partial {
    float most, sum;
  };
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  Partial own{-INFINITY, 0};
  for (int i = lane; row < rows && i < columns; i += 8) {
    const float v = x[row * columns + i];
    if (v > own.most) {
      own.sum = own.sum * expf(own.most - v) + 1;
      own.most = v;
    } else {
      own.sum += expf(v - own.most);
    }
  }
  own = reduced<8>(own, [](Partial a, Partial b) -> Partial {
    const Partial &more = a.most > b.most ? a : b, &less = a.most > b.most ? b : a;
    return {more.most, less.sum > 0 ? more.sum + less.sum * expf(less.most - more.most) : more.sum};
  });
  for (int i = lane; row < rows && i < columns; i += 8)
    y[row * columns + i] = __fdividef(expf(x[row * columns + i] - own.most), own.sum);
}

int main() {
  const int rows = 7, columns = 300;
  const float eps = 1e-5f;
  const auto x = numbers(rows * columns, 3);
  std::vector<double> normalized, probabilities, statistics;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, variance = 0, sum = 0;
    const float* const row = &x[r * columns];
    for (int i = 0; i < columns; ++i) mean += row[i] / columns, sum += exp(row[i]);
    for (int i = 0; i < columns; ++i) variance += (row[i] - mean) * (row[i] - mean) / columns;
    for (int i = 0; i < columns; ++i) {
      normalized.push_back((row[i] - mean) / sqrt(variance + eps));
      probabilities.push_back(exp(row[i]) / sum);
    }
    statistics.push_back(mean), statistics.push_back(variance);
  }
  float *in = on_device(x), *out = on_device(x), *told = on_device(std::vector<float>(2 * rows));
  layer_norm<<<rows, 96>>>(reinterpret_cast<float4*>(in), reinterpret_cast<float4*>(out),
                           reinterpret_cast<float2*>(told), columns / 4, eps);
  expect("normalized", on_host(out, rows * columns), normalized, 1e-4);
  expect("means and variances", on_host(told, 2 * rows), statistics, 1e-5);
  softmax<<<(rows * 8 + 63) / 64, 64>>>(in, out, rows, columns);
  expect("softmax", on_host(out, rows * columns), probabilities, 1e-5);
}
