// Scans longer than a block: sums of blocks scanned by a second launch and added by a third, and
// in one launch, where each block looks back at what those before it have published.
#include "check.h"

constexpr int threads = 128;

__device__ int scan_block(int own) {
  __shared__ int of_warps[threads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int d = 1; d < 32; d <<= 1) {
    const int left = __shfl_up_sync(0xffffffffu, own, d);
    if (lane >= d) own += left;
  }
  if (lane == 31) of_warps[warp] = own;
  __syncthreads();
  int before = 0;
  for (int w = 0; w < warp; ++w) before += of_warps[w];
  __syncthreads();
  return before + own;
}

__global__ void scan_each(const int* in, int* out, int* sums, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const int sum = scan_block(i < n ? in[i] : 0);
  if (i < n) out[i] = sum;
  if (sums != nullptr && threadIdx.x == threads - 1) sums[blockIdx.x] = sum;
}

__global__ void add_before(int* out, const int* sums, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}

// What a block has published: nothing, its own sum, or the sum up to its end.
struct Status {
  enum : unsigned { none, own, whole };
};
__device__ unsigned next_tile;

__device__ void publish(unsigned long long* place, unsigned status, int sum) {
  atomicExch(place, (unsigned long long)status << 32 | unsigned(sum));
}

__global__ void looking_back(const int* in, int* out, int n, unsigned long long* published) {
  __shared__ int before;
  __shared__ unsigned tile;
  // Tiles by a counter: those before this one have begun.
  if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1u);
  __syncthreads();
  const int i = tile * threads + threadIdx.x;
  const int sum = scan_block(i < n ? in[i] : 0);
  if (threadIdx.x == threads - 1) {
    publish(&published[tile], tile == 0 ? Status::whole : Status::own, sum);
    int found = 0;
    for (int back = int(tile) - 1; back >= 0;) {
      const unsigned long long seen = atomicAdd(&published[back], 0ull);
      const unsigned status = unsigned(seen >> 32);
      if (status == Status::none) continue;
      found += int(unsigned(seen));
      if (status == Status::whole) break;
      --back;
    }
    if (tile > 0) publish(&published[tile], Status::whole, found + sum);
    before = found;
  }
  __syncthreads();
  if (i < n) out[i] = before + sum;
}

int main() {
  const int n = 5000, blocks = (n + threads - 1) / threads;
  std::vector<int> in(n), right(n);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    in[i] = (i * 7919) % 21 - 8;
    right[i] = sum += in[i];
  }
  const int* d_in = on_device(in);
  int *d_out = on_device(std::vector<int>(n)), *sums = on_device(std::vector<int>(blocks));
  scan_each<<<blocks, threads>>>(d_in, d_out, sums, n);
  scan_each<<<1, threads>>>(sums, sums, nullptr, blocks);
  add_before<<<blocks, threads>>>(d_out, sums, n);
  expect("three launches", on_host(d_out, n), right, 0);

  auto* published = on_device(std::vector<unsigned long long>(blocks));
  CUDA_CHECK(cudaMemset(d_out, 0, n * sizeof(int)));
  looking_back<<<blocks, threads>>>(d_in, d_out, n, published);
  expect("looking back", on_host(d_out, n), right, 0);
}
