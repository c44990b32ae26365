// Cooperative launches: blocks that wait for each other by grid.sync(), as many as run together,
// arguments by their addresses; and a launch by a kernel's address.
#include <cooperative_groups.h>
#include "check.h"

namespace cg = cooperative_groups;

/// A sum of all: each block its part, then the first block the parts.
__global__ void sum_all(const float* in, float* parts, float* out, unsigned n) {
  cg::thread_block block = cg::this_thread_block();
  cg::grid_group grid = cg::this_grid();
  extern double __shared__ sdata[];
  sdata[block.thread_rank()] = 0;
  for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size())
    sdata[block.thread_rank()] += in[i];
  cg::sync(block);
  for (unsigned half = block.size() / 2; half > 0; half >>= 1) {
    if (block.thread_rank() < half) sdata[block.thread_rank()] += sdata[block.thread_rank() + half];
    block.sync();
  }
  if (block.thread_rank() == 0) parts[blockIdx.x] = static_cast<float>(sdata[0]);
  cg::sync(grid);
  if (grid.thread_rank() == 0) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += parts[i];
    *out = sum;
  }
}

/// Jacobi's steps on a line, with two buffers: all blocks end one before any begins the next.
__global__ void relax(float* a, float* b, int n, int steps) {
  const cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size()))
      b[i] = i == 0 || i == n - 1 ? a[i] : (a[i - 1] + a[i + 1]) * 0.5f;
    grid.sync();
    float* const t = a;
    a = b;
    b = t;
  }
}

__global__ void scale(float* x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] *= by; }

int main() {
  int device = 0, supported = 0, per_multiprocessor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, device));
  cudaDeviceProp prop = {};
  CUDA_CHECK(cudaGetDeviceProperties(&prop, device));
  if (!supported || !prop.cooperativeLaunch) {
    printf("no cooperative launches; waiving\n");
    return 6;
  }
  const int threads = 64;
  unsigned n = 5000;
  const size_t bytes = threads * sizeof(double);
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, sum_all, threads, bytes));
  dim3 blocks(std::min(per_multiprocessor * prop.multiProcessorCount, 6)), block(threads, 1, 1);
  const auto host = numbers(n);
  double right = 0;
  for (const float x : host) right += x;
  float *in = on_device(host), *parts, *out;
  CUDA_CHECK(cudaMalloc(&parts, blocks.x * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&out, sizeof(float)));
  void* args[] = {(void*)&in, (void*)&parts, (void*)&out, (void*)&n};
  CUDA_CHECK(cudaLaunchCooperativeKernel((void*)sum_all, blocks, block, args, bytes, NULL));
  expect("a sum by all blocks", on_host(out, 1), std::vector<double>{right}, 1e-4);

  int size = 300, steps = 10;
  auto a = numbers(size), b = a;
  float *d_a = on_device(a), *d_b = on_device(a);
  void* more[] = {&d_a, &d_b, &size, &steps};
  CUDA_CHECK(cudaLaunchCooperativeKernel(relax, dim3(2, 2), dim3(32), more));
  for (int s = 0; s < steps; ++s, std::swap(a, b))
    for (int i = 1; i < size - 1; ++i) b[i] = (a[i - 1] + a[i + 1]) * 0.5f;
  expect("steps", on_host(d_a, size), a);

  float by = 3;
  void* arguments[2] = {&d_a, &by};
  CUDA_CHECK(cudaLaunchKernel((const void*)scale, 3, 100, arguments, 0, nullptr));
  for (auto& x : a) x *= 3;
  expect("by its address", on_host(d_a, size), a);
  // More blocks than run together are refused.
  if (cudaLaunchCooperativeKernel(relax, 1 << 20, 32, more, 0, 0) !=
      cudaErrorCooperativeLaunchTooLarge)
    return 5;
  if (cudaGetLastError() != cudaErrorCooperativeLaunchTooLarge) return 5;
}
