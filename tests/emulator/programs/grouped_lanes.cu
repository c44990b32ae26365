// Cooperative groups by a size that is known when the kernel runs, by labels, and one for all.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void by_size(int* y, int size) {
  const cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), size);
  y[threadIdx.x] = 100 * tile.size() + tile.thread_rank();
}

__global__ void by_label(int* y, const int* labels) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto alike = cg::labeled_partition(warp, labels[threadIdx.x]);
  const int sum = cg::reduce(alike, static_cast<int>(threadIdx.x), cg::plus<int>());
  const int before = cg::exclusive_scan(alike, 1);
  y[threadIdx.x] = 100 * sum + before;
}

__global__ void positions(int* y, int* next, const int* x) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (x[threadIdx.x] % 3 == 0) {  // one addition for all that are here
    const auto here = cg::coalesced_threads();
    int first = 0;
    if (here.thread_rank() == 0) first = atomicAdd(next, static_cast<int>(here.size()));
    y[here.shfl(first, 0) + here.thread_rank()] = x[threadIdx.x];
  }
  warp.sync();
  const int seven = cg::invoke_one_broadcast(warp, [] { return 7; });
  const auto half = cg::binary_partition(warp, x[threadIdx.x] < 10);
  if (threadIdx.x == 31) y[31] = seven + static_cast<int>(half.size());
}

int main() {
  std::vector<int> labels(32), sized(32), labelled(32), x(32), kept(11);
  for (int i = 0; i < 32; ++i) {
    labels[i] = i * i % 5;
    sized[i] = 800 + i % 8;
    x[i] = i;
    if (i % 3 == 0) kept[i / 3] = i;
  }
  for (int i = 0; i < 32; ++i) {
    int sum = 0, before = 0;
    for (int k = 0; k < 32; ++k) {
      sum += labels[k] == labels[i] ? k : 0;
      before += labels[k] == labels[i] && k < i;
    }
    labelled[i] = 100 * sum + before;
  }
  int* y = on_device(std::vector<int>(32));
  by_size<<<1, 32>>>(y, 8);
  expect("tiles of 8", on_host(y, 32), sized, 0);
  by_label<<<1, 32>>>(y, on_device(labels));
  expect("labels", on_host(y, 32), labelled, 0);
  positions<<<1, 32>>>(y, on_device(std::vector<int>(1)), on_device(x));
  expect("multiples of 3", on_host(y, 11), kept, 0);
  expect("one for all", on_host(y + 31, 1), std::vector<int>{7 + 22}, 0);
}
