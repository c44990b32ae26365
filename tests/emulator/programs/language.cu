// What nvcc takes and a host's compiler does not, or takes otherwise: launches written in any way,
// arguments as parameters take them, names that C++20 has too, functions of CUDA beside those of
// std.
#include "check.h"

#include <math_constants.h>

using namespace std;

#if !defined(__NVCC__) || !defined(__CUDACC_VER_MAJOR__) || __cplusplus >= 202002L
#error "nvcc has these, and C++17"
#endif

struct Pair {
  int first, second;
};
struct Sizes {
  static const int one = 1, width = 64;
};

__global__ void store(int* at, Pair pair, const int* more) {
  *at = pair.first + 10 * pair.second + (more == nullptr ? 100 : more[1]);
}
__global__ void add(int* at, int n = 5) { *at += n; }
__global__ void add(float* at, int n) { *at += n; }
__global__ void read_by_reference(int* at, const Pair& pair) { *at = pair.second; }
template <class T>
__global__ void fill(T* at, int n) {
  if (threadIdx.x < n) at[threadIdx.x] = n;
}

// llm.c has one of these; C++20's <cmath> has it too.
__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }

__global__ void shared_in_any_form(float* x) {
  extern __shared__ float rows[][32];
  __shared__ alignas(16) float four[4];
  static_assert(alignof(float4) == 16, "");
  rows[threadIdx.x / 32][threadIdx.x % 32] = x[threadIdx.x];
  if (threadIdx.x < 4) four[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const float4 all = *reinterpret_cast<float4*>(four);
  x[threadIdx.x] = lerp(rows[1 - threadIdx.x / 32][threadIdx.x % 32], all.w, 0.5f);
}

__global__ void smallest(const unsigned char* bytes, short* shorts, float* x) {
  __builtin_assume(threadIdx.x < 32);
  shorts[0] = min(bytes[0], 200) + max(shorts[0], 3) + abs(-2);
  x[0] = max(-CUDART_INF_F, 1.5f) + min(2.5f, 3.0) + max(7u, 3) + fabs(-1.0f);
}

__global__ void vectors(float4* x, float first) {
  x[0] = {first, 1, 2, 3};
  x[1] = float4{first, 5, 6, 7};
}

int main() {
  int* at;
  CUDA_CHECK(cudaMalloc(&at, 64 * sizeof(int)));
  store<<<1, 1>>>(at, {3, 4}, 0);
  expect("braces and a literal 0", on_host(at, 1), vector<int>{143}, 0);
  const int more[2] = {7, 8};
  int* on_it = on_device(vector<int>(more, more + 2));
  store
      // a comment, and

      // eight

      // lines of nothing

      <<<Sizes::one, 1 /* thread */, 0, nullptr>>>(at, Pair{1, 2}, on_it);
  expect("comments and spaces", on_host(at, 1), vector<int>{29}, 0);
  add<<<1, 1>>>(at);
  expect("a default argument of one of two", on_host(at, 1), vector<int>{34}, 0);
  const Pair pair{5, 6};
  read_by_reference<<<1, 1>>>(at, pair);
  expect("by reference", on_host(at, 1), vector<int>{6}, 0);
  fill<<<dim3{1}, {64}>>>(at, Sizes::width);
  expect("a static member", on_host(at, 64), vector<int>(64, 64), 0);

  const auto x = numbers(64);
  float* on_x = on_device(x);
  shared_in_any_form<<<1, 64, 2 * 32 * sizeof(float)>>>(on_x);
  vector<float> right(64);
  for (int i = 0; i < 64; ++i) right[i] = (x[(i + 32) % 64] + 3) / 2;
  expect("shared memory", on_host(on_x, 64), right);

  short* shorts = on_device(vector<short>{1});
  smallest<<<1, 1>>>(on_device(vector<unsigned char>{250}), shorts, on_x);
  expect("min and max", on_host(shorts, 1), vector<int>{205}, 0);
  expect("of floats", on_host(on_x, 1), vector<double>{1.5 + 2.5 + 7 + 1});

  vectors<<<1, 1>>>(reinterpret_cast<float4*>(on_x), 9);
  expect("vectors in braces", on_host(on_x, 8), vector<float>{9, 1, 2, 3, 9, 5, 6, 7}, 0);
}
