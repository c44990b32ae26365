// Softmax of rows: maximum and sum by cub::BlockReduce with storage that both use, and several
// elements for each thread.
#include <cub/block/block_reduce.cuh>

#include "check.h"

template <int threads, int items>
__global__ void softmax(const float* x, float* y, int columns) {
  using Reduce = cub::BlockReduce<float, threads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ float shared[2];
  const float* row = x + blockIdx.x * columns;
  float values[items];
  for (int i = 0; i < items; ++i) {
    const int at = i * threads + threadIdx.x;
    values[i] = at < columns ? row[at] : -INFINITY;
  }
  const float most = Reduce(storage).Reduce(values, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) shared[0] = most;
  __syncthreads();
  for (float& each : values) each = expf(each - shared[0]);
  const float sum = Reduce(storage).Sum(values);
  if (threadIdx.x == 0) shared[1] = sum;
  __syncthreads();
  for (int i = 0; i < items; ++i) {
    const int at = i * threads + threadIdx.x;
    if (at < columns) y[blockIdx.x * columns + at] = values[i] / shared[1];
  }
}

int main() {
  const int rows = 3, columns = 150;
  const auto x = numbers(rows * columns);
  std::vector<double> right(x.size());
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c]);
    for (int c = 0; c < columns; ++c) right[r * columns + c] = std::exp(x[r * columns + c]) / sum;
  }
  float* y = on_device(std::vector<float>(x.size()));
  softmax<64, 4><<<rows, 64>>>(on_device(x), y, columns);
  expect("softmax", on_host(y, x.size()), right);
}
