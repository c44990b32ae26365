// Softmax of rows in one pass over the input: pairs of a maximum and a sum are merged in a thread,
// in a warp and in a block. Then the cross entropy of the row with one index, and its gradient.
#include <cfloat>
#include "check.h"

struct __align__(8) MaxSum {
  float max, sum;
};

__device__ __forceinline__ MaxSum operator+(MaxSum a, MaxSum b) {
  const bool larger = a.max > b.max;
  const MaxSum big = larger ? a : b, small = larger ? b : a;
  return MaxSum{big.max, big.sum + small.sum * __expf(small.max - big.max)};
}

__device__ MaxSum of_warp(MaxSum own) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    MaxSum other;
    other.max = __shfl_xor_sync(0xFFFFFFFFU, own.max, offset);
    other.sum = __shfl_xor_sync(0xFFFFFFFFU, own.sum, offset);
    own = own + other;
  }
  return own;
}

template <unsigned THREADS>
__device__ MaxSum of_block(MaxSum own) {
  constexpr unsigned WARPS = THREADS / 32;
  static_assert(WARPS <= 32, "one warp merges the warps");
  __shared__ MaxSum warps[WARPS];
  own = of_warp(own);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = own;
  __syncthreads();
  own = threadIdx.x % 32 < WARPS ? warps[threadIdx.x % 32] : MaxSum{-FLT_MAX, 0.0f};
  return of_warp(own);
}

template <unsigned THREADS>
__launch_bounds__(THREADS) __global__
    void softmax(const float* __restrict__ in, float* __restrict__ out, int n) {
  const float* row = in + static_cast<size_t>(blockIdx.x) * n;
  MaxSum own{-FLT_MAX, 0.0f};
  for (int i = threadIdx.x; i < n; i += THREADS) own = own + MaxSum{row[i], 1.0f};
  const MaxSum all = of_block<THREADS>(own);
  for (int i = threadIdx.x; i < n; i += THREADS)
    __stcs(out + blockIdx.x * n + i, __expf(row[i] - all.max) / all.sum);
}

template <unsigned THREADS>
__global__ void cross_entropy(const float* logits, const int* targets, float* losses,
                              float* gradient, int n) {
  const float* row = logits + blockIdx.x * n;
  MaxSum own{-FLT_MAX, 0.0f};
  for (int i = threadIdx.x; i < n; i += THREADS) own = own + MaxSum{row[i], 1.0f};
  const MaxSum all = of_block<THREADS>(own);
  const int target = targets[blockIdx.x];
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(all.sum) + all.max - row[target];
  for (int i = threadIdx.x; i < n; i += THREADS)
    gradient[blockIdx.x * n + i] = (expf(row[i] - all.max) / all.sum - (i == target)) / gridDim.x;
}

int main() {
  const int rows = 7, n = 1000;
  auto x = numbers(rows * n);
  for (float& each : x) each *= 20;
  std::vector<int> targets(rows);
  std::vector<double> right(rows * n), losses(rows), gradient(rows * n);
  for (int r = 0; r < rows; ++r) {
    targets[r] = (r * 331) % n;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::exp(double(x[r * n + i]));
    for (int i = 0; i < n; ++i) {
      right[r * n + i] = std::exp(double(x[r * n + i])) / sum;
      gradient[r * n + i] = (right[r * n + i] - (i == targets[r])) / rows;
    }
    losses[r] = -std::log(right[r * n + targets[r]]);
  }
  const float* d_x = on_device(x);
  float *d_y = on_device(std::vector<float>(rows * n)),
        *d_losses = on_device(std::vector<float>(rows));
  softmax<128><<<rows, 128>>>(d_x, d_y, n);
  expect("softmax", on_host(d_y, rows * n), right, 1e-6);
  cross_entropy<256><<<rows, 256>>>(d_x, on_device(targets), d_losses, d_y, n);
  expect("losses", on_host(d_losses, rows), losses);
  expect("gradient", on_host(d_y, rows * n), gradient, 1e-6);
}
