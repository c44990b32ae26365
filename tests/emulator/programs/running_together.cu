// The lanes that run together: in both ways of a branch, in loops of different length, after some
// have returned; one atomic operation for each group of lanes with the same key.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "check.h"

namespace cg = cooperative_groups;

__global__ void two_ways(const int* x, int* sizes, int* sums) {
  const int i = threadIdx.x;
  if (x[i] % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    sums[i] = cg::reduce(group, x[i], cg::plus<int>());
    sizes[i] = group.size();
  } else {
    const auto group = cg::coalesced_threads();
    int sum = 0;
    for (int r = 0; r < group.size(); ++r) sum += group.shfl(x[i], r);
    sums[i] = sum;
    sizes[i] = group.num_threads();
    group.sync();
  }
}

__device__ int add_aggregated(int* counter) {
  const unsigned mask = __activemask();
  const int leader = __ffs(mask) - 1, lane = threadIdx.x % 32;
  int before;
  if (lane == leader) before = atomicAdd(counter, __popc(mask));
  before = __shfl_sync(mask, before, leader);
  return before + __popc(mask & ((1u << lane) - 1));
}

__global__ void places(const int* x, int n, int* counter, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < x[i] % 4; ++k) out[add_aggregated(counter)] = i;
}

// Lanes of the same key elect one who adds for all.
__global__ void histogram(const int* x, int n, int* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int key = x[i] % 5;
  const unsigned peers = __match_any_sync(__activemask(), key);
  if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&counts[key], __popc(peers));
}

__global__ void rows(const int* x, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<4> tile = cg::tiled_partition<4>(block);
  const int value = x[block.thread_rank()];
  const unsigned odd = tile.ballot(value & 1);
  const int most = cg::reduce(tile, value, cg::greater<int>());
  if (tile.any(value > 90) && tile.thread_rank() == 0)
    out[tile.meta_group_rank()] = most * 16 + odd;
}

int main() {
  const int n = 100;
  std::vector<int> x(n), sizes(32), sums(32), counts(5), tiles(n / 4);
  int size[2] = {}, sum[2] = {}, total = 0;
  std::vector<int> times(n);
  for (int i = 0; i < n; ++i) {
    x[i] = (i * 37 + 11) % 101;
    ++counts[x[i] % 5];
    times[i] = x[i] % 4;
    total += times[i];
    if (i >= 32) continue;
    ++size[x[i] % 3 == 0];
    sum[x[i] % 3 == 0] += x[i];
  }
  for (int i = 0; i < 32; ++i) {
    sizes[i] = size[x[i] % 3 == 0];
    sums[i] = sum[x[i] % 3 == 0];
  }
  for (int t = 0; t < n / 4; ++t) {
    int most = 0, odd = 0;
    for (int k = 0; k < 4; ++k) {
      most = std::max(most, x[4 * t + k]);
      odd |= (x[4 * t + k] & 1) << k;
    }
    tiles[t] = most > 90 ? most * 16 + odd : 0;
  }
  const int* d_x = on_device(x);
  int *d_sizes = on_device(sizes), *d_sums = on_device(sums),
      *counter = on_device(std::vector<int>(1));
  two_ways<<<1, 32>>>(d_x, d_sizes, d_sums);
  expect("sizes", on_host(d_sizes, 32), sizes);
  expect("sums", on_host(d_sums, 32), sums);
  int* out = on_device(std::vector<int>(total, -1));
  places<<<2, 64>>>(d_x, n, counter, out);
  expect("count", on_host(counter, 1), std::vector<int>{total});
  std::vector<int> found(n);
  for (const int i : on_host(out, total)) ++found.at(i);
  expect("places", found, times);
  int* d_counts = on_device(std::vector<int>(5));
  histogram<<<2, 64>>>(d_x, n, d_counts);
  expect("histogram", on_host(d_counts, 5), counts);
  int* d_tiles = on_device(std::vector<int>(n / 4));
  rows<<<1, n>>>(d_x, d_tiles);
  expect("rows", on_host(d_tiles, n / 4), tiles);
}
