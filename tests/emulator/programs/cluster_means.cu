// Steps of k-means: kernels assign points, Thrust sorts them by cluster and sums each one.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include "check.h"

__global__ void nearest(const float* points, int n, const float* means, int k, int* clusters) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  for (int c = 1; c < k; ++c) {
    if (fabsf(points[i] - means[c]) < fabsf(points[i] - means[best])) best = c;
  }
  clusters[i] = best;
}

int main() {
  const int n = 300, k = 3;
  auto values = numbers(n);
  for (int i = 0; i < n; ++i) values[i] += 10 * (i % k);
  thrust::device_vector<float> points(values.begin(), values.end()), means(k), sums(k), sorted;
  thrust::device_vector<int> clusters(n), keys(k), counts(k), ones(n, 1);
  for (int c = 0; c < k; ++c) means[c] = 4.0f + 5 * c;
  for (int step = 0; step < 5; ++step) {
    nearest<<<(n + 63) / 64, 64>>>(points.data().get(), n, means.data().get(), k,
                                   clusters.data().get());
    CUDA_CHECK(cudaGetLastError());
    sorted = points;
    thrust::sort_by_key(clusters.begin(), clusters.end(), sorted.begin());
    thrust::reduce_by_key(clusters.begin(), clusters.end(), sorted.begin(), keys.begin(),
                          sums.begin());
    thrust::reduce_by_key(clusters.begin(), clusters.end(), ones.begin(), keys.begin(),
                          counts.begin());
    for (int c = 0; c < k; ++c) means[keys[c]] = sums[c] / counts[c];
  }
  std::vector<double> right(k);
  for (int i = 0; i < n; ++i) right[i % k] += values[i] / (n / k);
  std::vector<float> actual(k);
  thrust::copy(means.begin(), means.end(), actual.begin());
  expect("means", actual, right, 1e-5);
}
