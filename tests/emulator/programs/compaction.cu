// Compaction: keeps the positive elements. By a scan, by ballots in order, and by one atomic
// operation per group of lanes that run the branch together.
#include <algorithm>
#include <cooperative_groups.h>
#include "check.h"

namespace cg = cooperative_groups;

__global__ void by_scan(const float* in, int n, float* out, int* kept) {
  extern __shared__ int places[];
  const int t = threadIdx.x;
  const int keep = t < n && in[t] > 0;
  places[t] = keep;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    const int left = t >= d ? places[t - d] : 0;
    __syncthreads();
    places[t] += left;
    __syncthreads();
  }
  if (keep) out[places[t] - 1] = in[t];
  if (t == blockDim.x - 1) *kept = places[t];
}

// Blocks take their places in any order, lanes in theirs.
__global__ void by_ballot(const float* in, int n, float* out, int* kept) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  const bool keep = i < n && in[i] > 0;
  const unsigned votes = __ballot_sync(0xffffffff, keep);
  int begin = 0;
  if (lane == 0 && votes != 0) begin = atomicAdd(kept, __popc(votes));
  begin = __shfl_sync(0xffffffff, begin, 0);
  if (keep) out[begin + __popc(votes & ((1u << lane) - 1u))] = in[i];
}

__device__ int next_place(int* counter) {
  const auto active = cg::coalesced_threads();
  int begin = 0;
  if (active.thread_rank() == 0) begin = atomicAdd(counter, int(active.size()));
  return active.shfl(begin, 0) + active.thread_rank();
}

__global__ void by_coalesced_threads(const float* in, int n, float* out, int* kept) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    if (in[i] > 0) {
      out[next_place(kept)] = in[i];
    }
  }
}

int main() {
  const int n = 1000;
  const auto x = numbers(n);
  std::vector<float> right, of_first;
  for (int i = 0; i < n; ++i)
    if (x[i] > 0) {
      right.push_back(x[i]);
      if (i < 200) of_first.push_back(x[i]);
    }
  float *d_x = on_device(x), *d_out = on_device(std::vector<float>(n));
  int* kept = on_device(std::vector<int>(1));
  const auto result = [&](bool in_order) {
    auto values = on_host(d_out, on_host(kept, 1)[0]);
    if (!in_order) std::sort(values.begin(), values.end());
    CUDA_CHECK(cudaMemset(kept, 0, sizeof(int)));
    return values;
  };
  by_scan<<<1, 256, 256 * sizeof(int)>>>(d_x, 200, d_out, kept);
  expect("by scan", result(true), of_first, 0);
  std::sort(right.begin(), right.end());
  by_ballot<<<8, 128>>>(d_x, n, d_out, kept);
  expect("by ballot", result(false), right, 0);
  by_coalesced_threads<<<2, 128>>>(d_x, n, d_out, kept);
  expect("by coalesced threads", result(false), right, 0);
}
