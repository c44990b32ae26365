// Bitonic sort: a block's values in shared memory, then steps over global memory, one launch each;
// and of a warp's values by shuffles alone.
#include <algorithm>
#include "check.h"

#define THREADS 128

__device__ inline void order(float& a, float& b, bool ascending) {
  if ((a > b) == ascending) {
    const float t = a;
    a = b;
    b = t;
  }
}

__global__ void in_shared(float* values) {
  __shared__ float s[2 * THREADS];
  const int begin = 2 * THREADS * blockIdx.x, t = threadIdx.x;
  s[t] = values[begin + t];
  s[t + THREADS] = values[begin + t + THREADS];
  for (int size = 2; size <= 2 * THREADS; size <<= 1) {
    const bool ascending = ((begin / 2 + t) & (size / 2)) == 0;
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const int at = 2 * t - (t & (stride - 1));
      order(s[at], s[at + stride], ascending);
    }
  }
  __syncthreads();
  values[begin + t] = s[t];
  values[begin + t + THREADS] = s[t + THREADS];
}

__global__ void one_step(float* values, unsigned stride, unsigned size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ stride;
  if (other > i) order(values[i], values[other], (i & size) == 0);
}

__global__ void of_a_warp(float* values) {
  const int lane = threadIdx.x & 31;
  float own = values[lane];
  for (int size = 2; size <= 32; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const float other = __shfl_xor_sync(0xffffffff, own, stride);
      const bool low = (lane & stride) == 0, ascending = (lane & size) == 0;
      own = low == ascending ? fminf(own, other) : fmaxf(own, other);
    }
  }
  values[lane] = own;
}

int main() {
  const unsigned n = 2048;
  const auto x = numbers(n);
  auto sorted = x;
  std::sort(sorted.begin(), sorted.end());
  float* d_x = on_device(x);
  in_shared<<<n / (2 * THREADS), THREADS>>>(d_x);
  for (unsigned size = 4 * THREADS; size <= n; size <<= 1)
    for (unsigned stride = size >> 1; stride > 0; stride >>= 1)
      one_step<<<n / 256, 256>>>(d_x, stride, size);
  expect("sorted", on_host(d_x, n), sorted, 0);

  std::vector<float> few(x.begin(), x.begin() + 32);
  float* d_few = on_device(few);
  of_a_warp<<<1, 32>>>(d_few);
  std::sort(few.begin(), few.end());
  expect("of a warp", on_host(d_few, 32), few, 0);
}
