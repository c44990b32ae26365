// Cooperative groups: a block's sum by tiles of 32 and of 8, and reduce().
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "check.h"

namespace cg = cooperative_groups;

template <int size>
__global__ void sum_by_tiles(const float* in, float* out, int n) {
  __shared__ float sums[256 / size];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<size>(block);
  float value = 0;
  for (int i = block.thread_rank(); i < n; i += block.size()) value += in[i];
  for (int d = tile.size() / 2; d > 0; d /= 2) value += tile.shfl_down(value, d);
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = value;
  block.sync();
  if (block.thread_rank() == 0) {
    float sum = 0;
    for (int t = 0; t < tile.meta_group_size(); ++t) sum += sums[t];
    *out = sum;
  }
}

__global__ void sum_by_reduce(const float* in, float* out, int n) {
  auto block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  float value = 0;
  for (int i = block.thread_rank(); i < n; i += block.num_threads()) value += in[i];
  value = cg::reduce(warp, value, cg::plus<float>());
  if (warp.thread_rank() == 0) atomicAdd(out, value);
  cg::sync(block);
  const float most = cg::reduce(warp, in[threadIdx.x], cg::greater<float>{});
  if (threadIdx.x == 0) out[1] = most;
}

int main() {
  const int n = 1000;
  const auto in = numbers(n);
  double sum = 0;
  float most = -2;
  for (int i = 0; i < n; ++i) sum += in[i];
  for (int i = 0; i < 32; ++i) most = std::fmax(most, in[i]);
  float *d_in = on_device(in), *d_out = on_device(std::vector<float>(2));
  sum_by_tiles<32><<<1, 128>>>(d_in, d_out, n);
  expect("tiles of 32", on_host(d_out, 1), std::vector<double>{sum}, 1e-4);
  sum_by_tiles<8><<<1, 128>>>(d_in, d_out, n);
  expect("tiles of 8", on_host(d_out, 1), std::vector<double>{sum}, 1e-4);
  CUDA_CHECK(cudaMemset(d_out, 0, sizeof(float)));
  sum_by_reduce<<<1, 64>>>(d_in, d_out, n);
  expect("reduce", on_host(d_out, 2), std::vector<double>{sum, most}, 1e-4);
}
