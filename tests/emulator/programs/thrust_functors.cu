// Thrust without memory: a sum over a counting iterator, a norm by a functor with state, a kernel
// that sorts its own part.
#include "check.h"

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

struct Rectangle {
  int steps;
  __host__ __device__ double operator()(int i) const {
    const double x = (i + 0.5) / steps;
    return 4 / (1 + x * x) / steps;
  }
};
struct Distance {
  const float* center;
  __device__ float operator()(float x) const { return (x - *center) * (x - *center); }
};

__global__ void sort_parts(int* x, int each) {
  int* first = x + threadIdx.x * each;
  thrust::sort(thrust::seq, first, first + each);
}

int main() {
  const int steps = 1000;
  const double pi = thrust::transform_reduce(thrust::device, thrust::counting_iterator<int>(0),
                                             thrust::counting_iterator<int>(steps),
                                             Rectangle{steps}, 0.0, thrust::plus<double>());
  expect("pi", std::vector<double>{pi}, std::vector<double>{3.14159265}, 1e-6);

  thrust::device_vector<float> x(5, 3.0f), squares(5);
  x[4] = 5;
  float* center = on_device(std::vector<float>{1});
  thrust::transform(x.begin(), x.end(), squares.begin(), Distance{center});
  const float norm = thrust::reduce(squares.begin(), squares.end());
  x.push_back(9);
  expect("a norm", std::vector<float>{norm, x.back(), static_cast<float>(x.size())},
         std::vector<float>{4 * 4 + 16, 9, 6}, 0);

  int* parts = on_device(std::vector<int>{3, 1, 2, 9, 7, 8});
  sort_parts<<<1, 2>>>(parts, 3);
  expect("parts", on_host(parts, 6), std::vector<int>{1, 2, 3, 7, 8, 9}, 0);
}
