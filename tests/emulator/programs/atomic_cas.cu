// Loops round atomicCAS: a maximum of floats, a sum of doubles, a lock. They begin with an atomic
// read or with a guess: a plain read would race with the others' writes.
#include "check.h"

__device__ float atomic_max(float* address, float value) {
  int* as_int = (int*)address;
  int old = atomicAdd(as_int, 0), assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= value) break;
    old = atomicCAS(as_int, assumed, __float_as_int(value));
  } while (assumed != old);
  return __int_as_float(old);
}

__device__ double atomic_add(double* address, double value) {
  unsigned long long int* bits = reinterpret_cast<unsigned long long int*>(address);
  unsigned long long int old = 0, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__global__ void largest_and_sum(const float* x, int n, float* largest, double* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomic_max(largest, x[i]);
  atomic_add(sum, x[i]);
}

// One thread of each block enters at a time.
__global__ void under_a_lock(int* lock, volatile int* count, int rounds) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < rounds; ++i) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

int main() {
  const int n = 3000;
  const auto x = numbers(n);
  double largest = -2, sum = 0;
  for (const float each : x) {
    largest = std::max<double>(largest, each);
    sum += each;
  }
  float* d_largest = on_device(std::vector<float>{-2});
  double* d_sum = on_device(std::vector<double>(1));
  largest_and_sum<<<(n + 127) / 128, 128>>>(on_device(x), n, d_largest, d_sum);
  expect("largest", on_host(d_largest, 1), std::vector<double>{largest}, 0);
  expect("sum", on_host(d_sum, 1), std::vector<double>{sum}, 1e-12);

  int *lock = on_device(std::vector<int>(1)), *count = on_device(std::vector<int>(1));
  under_a_lock<<<6, 32>>>(lock, count, 20);
  expect("under a lock", on_host(count, 1), std::vector<int>{120});
}
