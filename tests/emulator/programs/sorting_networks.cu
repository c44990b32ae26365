// Sorts without a library: a bitonic network in shared memory and across blocks, odd-even
// transposition, and a merge by binary searches; keys alone and with values.
#include <algorithm>
#include <limits>
#include <numeric>
#include "check.h"

typedef unsigned int uint;

template <class T>
__device__ __forceinline__ void compare_swap(T& a, T& b, bool up) {
  if ((a > b) == up) {
    T t = a;
    a = b;
    b = t;
  }
}

template <class T, int N>
__global__ void __launch_bounds__(N / 2) bitonic_block(T* data) {
  __shared__ T s[N];
  T* const own = data + blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += N / 2) s[i] = own[i];
  for (uint size = 2; size <= N; size <<= 1) {
    const bool up = ((threadIdx.x & (size / 2)) == 0) == (size < N || blockIdx.x % 2 == 0);
    for (uint stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const uint at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      compare_swap(s[at], s[at + stride], up);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += N / 2) own[i] = s[i];
}

template <class T>
__global__ void bitonic_step(T* data, uint j, uint k) {
  const uint i = threadIdx.x + blockDim.x * blockIdx.x, other = i ^ j;
  if (other > i) compare_swap(data[i], data[other], (i & k) == 0);
}

__global__ void odd_even(short* x, int n) {
  for (int round = 0; round < n; ++round) {
    const int i = 2 * threadIdx.x + round % 2;
    if (i + 1 < n && x[i] > x[i + 1]) {
      const short t = x[i];
      x[i] = x[i + 1], x[i + 1] = t;
    }
    __syncthreads();
  }
}

__device__ int lower_bound(const int* x, int n, int key, bool or_equal) {
  int low = 0;
  while (n > 0) {
    const int half = n >> 1;
    if (x[low + half] < key || (or_equal && x[low + half] == key)) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

__global__ void merge_pairs(const int* keys, const int* values, int* out, int* out_values,
                            int run) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, pair = i / (2 * run) * 2 * run;
  const bool first = i - pair < run;
  const int* const other = keys + pair + (first ? run : 0);
  const int rank = (i - pair) % run + lower_bound(other, run, keys[i], !first);
  out[pair + rank] = keys[i];
  out_values[pair + rank] = values[i];
}

int main() {
  const int n = 1024;
  std::vector<float> host = numbers(n), right = host;
  std::sort(right.begin(), right.end());
  float* data = on_device(host);
  bitonic_block<float, 256><<<n / 256, 128>>>(data);
  for (uint k = 512; k <= n; k <<= 1)
    for (uint j = k >> 1; j > 0; j = j >> 1) bitonic_step<<<n / 256, 256>>>(data, j, k);
  expect("bitonic", on_host(data, n), right, 0);

  std::vector<short> few(101);
  for (int i = 0; i < 101; ++i) few[i] = short(i * 37 % 101 - 50);
  short* d_few = on_device(few);
  odd_even<<<1, 64>>>(d_few, 101);
  std::sort(few.begin(), few.end());
  expect("odd and even", on_host(d_few, 101), few, 0);

  std::vector<int> keys(n), order(n);
  for (int i = 0; i < n; ++i) keys[i] = i * 7919 % 97;
  std::iota(order.begin(), order.end(), 0);
  int *a = on_device(keys), *b = on_device(keys), *va = on_device(order), *vb = on_device(order);
  for (int run = 1; run < n; run *= 2) {
    merge_pairs<<<n / 128, 128>>>(a, va, b, vb, run);
    std::swap(a, b), std::swap(va, vb);
  }
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return keys[i] < keys[j]; });
  expect("a stable merge", on_host(va, n), order, 0);
}
