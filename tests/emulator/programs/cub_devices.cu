// CUB: blocks that load several elements for each thread, scan and store them; sums of whole
// arrays.
#include <cub/cub.cuh>

#include "check.h"

__global__ void running_sums(const int* x, int* y, int n) {
  using Load = cub::BlockLoad<int, 32, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 32, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<int, 32>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  } storage;
  const int first = blockIdx.x * 128;
  int items[4];
  Load(storage.load).Load(x + first, items, n - first, 0);
  __syncthreads();
  Scan(storage.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(storage.store).Store(y + first, items, n - first);
}

__global__ void block_sums(const float* x, float* y) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ typename Reduce::TempStorage storage;
  float items[2] = {x[2 * threadIdx.x], x[2 * threadIdx.x + 1]};
  const float sum = Reduce(storage).Sum(items);
  if (threadIdx.x == 0) *y = sum;
}

int main() {
  const int n = 200;
  std::vector<int> x(n), right(n), before(n);
  for (int i = 0; i < n; ++i) x[i] = i % 9 - 2;
  for (int i = 0; i < n; ++i) right[i] = x[i] + (i % 128 == 0 ? 0 : right[i - 1]);
  for (int i = 1; i < n; ++i) before[i] = before[i - 1] + x[i - 1];
  int *of_x = on_device(x), *y = on_device(std::vector<int>(n));
  running_sums<<<2, 32>>>(of_x, y, n);
  expect("of each block", on_host(y, n), right, 0);

  void* storage = nullptr;
  size_t bytes = 0;
  CUDA_CHECK(cub::DeviceScan::ExclusiveSum(storage, bytes, of_x, y, n));
  CUDA_CHECK(cudaMalloc(&storage, bytes));
  CUDA_CHECK(cub::DeviceScan::ExclusiveSum(storage, bytes, of_x, y, n));
  expect("before each", on_host(y, n), before, 0);
  CUDA_CHECK(cudaFree(storage));

  storage = nullptr;
  CUDA_CHECK(cub::DeviceReduce::Sum(storage, bytes, of_x, y, n));
  CUDA_CHECK(cudaMalloc(&storage, bytes));
  CUDA_CHECK(cub::DeviceReduce::Sum(storage, bytes, of_x, y, n));
  CUDA_CHECK(cub::DeviceReduce::Max(storage, bytes, of_x, y + 1, n));
  expect("sum and largest", on_host(y, 2), std::vector<int>{before[n - 1] + x[n - 1], 6}, 0);
  CUDA_CHECK(cudaFree(storage));

  const auto values = numbers(128);
  float* sum = on_device(std::vector<float>(1));
  block_sums<<<1, 64>>>(on_device(values), sum);
  double all = 0;
  for (const float each : values) all += each;
  expect("of two each", on_host(sum, 1), std::vector<double>{all}, 1e-5);
}
