// Thrust as courses use it: vectors on both sides, transformations, sums, scans, sorts.
#include "check.h"

#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

struct Saxpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct Square {
  __host__ __device__ float operator()(float x) const { return x * x; }
};
struct Odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct Mark {
  int* marks;
  __device__ void operator()(int i) const { marks[i] = 3 * i; }
};

__global__ void twice(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

int main() {
  const int n = 100;
  const auto values = numbers(n);
  thrust::host_vector<float> on_host_side(values.begin(), values.end());
  thrust::device_vector<float> x = on_host_side, y(n, 1.0f);

  twice<<<1, 128>>>(thrust::raw_pointer_cast(x.data()), n);
  thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{3});
  std::vector<float> right(n), actual(n);
  double sum = 0, squares = 0, product = 0;
  for (int i = 0; i < n; ++i) {
    right[i] = 6 * values[i] + 1;
    sum += right[i];
    squares += right[i] * right[i];
    product += 2 * values[i] * right[i];
  }
  thrust::copy(y.begin(), y.end(), actual.begin());
  expect("saxpy", actual, right);
  expect("sums",
         std::vector<double>{
             thrust::reduce(y.begin(), y.end()),
             thrust::transform_reduce(y.begin(), y.end(), Square(), 0.0f, thrust::plus<float>()),
             thrust::inner_product(x.begin(), x.end(), y.begin(), 0.0f)},
         std::vector<double>{sum, squares, product}, 1e-4);
  const float most = *thrust::max_element(y.begin(), y.end());
  y[3] = most + 1;
  const int at = thrust::max_element(y.begin(), y.end()) - y.begin();
  expect("the largest", std::vector<float>{y[at], static_cast<float>(at)},
         std::vector<float>{most + 1, 3});

  thrust::device_vector<int> steps(n), sums(n), keys(n);
  thrust::sequence(steps.begin(), steps.end());
  thrust::exclusive_scan(steps.begin(), steps.end(), sums.begin());
  thrust::fill(keys.begin(), keys.end(), 7);
  thrust::transform(steps.begin(), steps.end(), keys.begin(), keys.begin(), thrust::modulus<int>());
  thrust::sort_by_key(keys.begin(), keys.end(), steps.begin());
  thrust::host_vector<int> of_sums = sums;
  std::vector<int> of_steps(n);
  thrust::copy(steps.begin(), steps.end(), of_steps.begin());
  std::vector<int> right_sums(n), right_steps;
  for (int i = 0; i < n; ++i) right_sums[i] = i * (i - 1) / 2;
  for (int rest = 0; rest < 7; ++rest) {
    for (int i = rest; i < n; i += 7) right_steps.push_back(i);
  }
  expect("sums before", std::vector<int>(of_sums.begin(), of_sums.end()), right_sums, 0);
  expect("sorted by rest", of_steps, right_steps, 0);

  // What cudaMalloc gave.
  int* raw = on_device(std::vector<int>{5, 2, 9, 4});
  thrust::device_ptr<int> first(raw);
  thrust::sort(first, first + 4, thrust::greater<int>());
  expect("cudaMalloc's", on_host(raw, 4), std::vector<int>{9, 5, 4, 2}, 0);
  thrust::for_each(thrust::device, thrust::make_counting_iterator(0),
                   thrust::make_counting_iterator(4), Mark{raw});
  expect("marks", on_host(raw, 4), std::vector<int>{0, 3, 6, 9}, 0);
  const long odd = thrust::count_if(thrust::device, raw, raw + 4, Odd());
  const int all = thrust::reduce(thrust::device, raw, raw + 4, 0, thrust::maximum<int>());
  expect("with a policy", std::vector<long>{odd, all}, std::vector<long>{2, 9}, 0);
}
