// cub's sums of blocks and warps, as teaching code uses them.
#include <cub/cub.cuh>
#include "check.h"

struct Larger {
  __device__ float operator()(const float& a, const float& b) const { return a > b ? a : b; }
};

template <int THREADS>
__global__ void rms_norm(const float* x, float* y, int d) {
  using BlockReduce = cub::BlockReduce<float, THREADS>;
  __shared__ typename BlockReduce::TempStorage storage;
  __shared__ float scale;
  float square = 0;
  for (int i = threadIdx.x; i < d; i += THREADS) {
    const float v = x[blockIdx.x * d + i];
    square += v * v;
  }
  const float total = BlockReduce(storage).Sum(square);
  if (threadIdx.x == 0) scale = rsqrtf(total / d + 1e-5f);
  __syncthreads();
  for (int i = threadIdx.x; i < d; i += THREADS)
    y[blockIdx.x * d + i] = x[blockIdx.x * d + i] * scale;
}

__global__ void softmax(const float* x, float* y, int d) {
  typedef cub::BlockReduce<float, 128> Reduce;
  __shared__ Reduce::TempStorage storage;
  __shared__ float shared;
  const float* row = x + blockIdx.x * d;
  float own = -1e30f;
  for (int i = threadIdx.x; i < d; i += blockDim.x) own = fmaxf(own, row[i]);
  const float most = Reduce(storage).Reduce(own, Larger());
  if (threadIdx.x == 0) shared = most;
  __syncthreads();
  const float max = shared;
  own = 0;
  for (int i = threadIdx.x; i < d; i += blockDim.x) own += expf(row[i] - max);
  const float sum = Reduce(storage).Sum(own);
  __syncthreads();
  if (threadIdx.x == 0) shared = sum;
  __syncthreads();
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    y[blockIdx.x * d + i] = expf(row[i] - max) / shared;
}

__global__ void by_warps(const int* x, int* sums, int* largest, int n) {
  using WarpReduce = cub::WarpReduce<int>;
  __shared__ WarpReduce::TempStorage storage[4];
  const int warp = threadIdx.x / 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = WarpReduce(storage[warp]).Sum(i < n ? x[i] : 0);
  __syncwarp();
  const int most = WarpReduce(storage[warp]).Reduce(i < n ? x[i] : -1000, [](int a, int b) {
    return a > b ? a : b;
  });
  if (threadIdx.x % 32 == 0 && i < n) {
    sums[i / 32] = sum;
    largest[i / 32] = most;
  }
}

__global__ void positions(const int* x, int* before, int* total) {
  using Scan = cub::BlockScan<int, 64>;
  __shared__ typename Scan::TempStorage storage;
  int all;
  Scan(storage).ExclusiveSum(x[threadIdx.x], before[threadIdx.x], all);
  if (threadIdx.x == 0) *total = all;
}

int main() {
  const int rows = 6, d = 300, n = 250;
  const auto x = numbers(rows * d);
  std::vector<double> normal(rows * d), soft(rows * d);
  for (int r = 0; r < rows; ++r) {
    double square = 0, sum = 0;
    for (int i = 0; i < d; ++i) {
      square += double(x[r * d + i]) * x[r * d + i];
      sum += std::exp(double(x[r * d + i]));
    }
    for (int i = 0; i < d; ++i) {
      normal[r * d + i] = x[r * d + i] / std::sqrt(square / d + 1e-5);
      soft[r * d + i] = std::exp(double(x[r * d + i])) / sum;
    }
  }
  const float* d_x = on_device(x);
  float* d_y = on_device(std::vector<float>(rows * d));
  rms_norm<96><<<rows, 96>>>(d_x, d_y, d);
  expect("rms norm", on_host(d_y, rows * d), normal);
  softmax<<<rows, 128>>>(d_x, d_y, d);
  expect("softmax", on_host(d_y, rows * d), soft);

  std::vector<int> values(n), sums(8), largest(8, -1000), before(64);
  for (int i = 0; i < n; ++i) {
    values[i] = (i * 37) % 101 - 50;
    sums[i / 32] += values[i];
    largest[i / 32] = std::max(largest[i / 32], values[i]);
  }
  for (int i = 1; i < 64; ++i) before[i] = before[i - 1] + values[i - 1];
  int *d_values = on_device(values), *d_sums = on_device(values), *d_largest = on_device(values);
  by_warps<<<2, 128>>>(d_values, d_sums, d_largest, n);
  expect("sums of warps", on_host(d_sums, 8), sums);
  expect("largest of warps", on_host(d_largest, 8), largest);
  positions<<<1, 64>>>(d_values, d_sums, d_largest);
  expect("positions", on_host(d_sums, 64), before);
  expect("total", on_host(d_largest, 1), std::vector<int>{before[63] + values[63]});
}
