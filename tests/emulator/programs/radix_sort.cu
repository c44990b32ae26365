// Radix sort, four bits a pass: digits are counted per block, the counts are scanned, and keys with
// their values go to their places in order. The scan of a warp's flags is a ballot.
#include <algorithm>
#include <numeric>
#include "check.h"

constexpr int digit_bits = 4, digits = 1 << digit_bits, threads = 128;

__device__ int digit_of(unsigned key, int shift) { return (key >> shift) & (digits - 1); }

__global__ void count(const unsigned* keys, int n, int shift, unsigned* counts) {
  __shared__ unsigned own[digits];
  if (threadIdx.x < digits) own[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) atomicAdd(&own[digit_of(keys[i], shift)], 1u);
  __syncthreads();
  // By digit, then by block: one scan gives every block its places.
  if (threadIdx.x < digits) counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

__global__ void scan(unsigned* counts, int n) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int begin = 0; begin < n; begin += 32) {
    const int i = begin + threadIdx.x;
    const unsigned own = i < n ? counts[i] : 0;
    unsigned sum = own;
    for (int d = 1; d < 32; d <<= 1) {
      const unsigned left = __shfl_up_sync(~0u, sum, d);
      if (threadIdx.x >= d) sum += left;
    }
    const unsigned before = total;
    __syncwarp();
    if (i < n) counts[i] = before + sum - own;
    if (threadIdx.x == 31) total = before + sum;
    __syncwarp();
  }
}

__global__ void scatter(const unsigned* keys, const int* values, int n, int shift,
                        const unsigned* places, unsigned* keys_out, int* values_out) {
  __shared__ unsigned of_warp[threads / 32][digits];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int i = blockIdx.x * threads + threadIdx.x;
  const unsigned key = i < n ? keys[i] : ~0u;
  const int digit = i < n ? digit_of(key, shift) : -1;
  unsigned rank = 0;
  for (int d = 0; d < digits; ++d) {
    const unsigned same = __ballot_sync(0xffffffff, digit == d);
    if (digit == d) rank = __popc(same & ((1u << lane) - 1));
    if (lane == 0) of_warp[warp][d] = __popc(same);
  }
  __syncthreads();
  if (i >= n) return;
  for (int w = 0; w < warp; ++w) rank += of_warp[w][digit];
  const unsigned to = places[digit * gridDim.x + blockIdx.x] + rank;
  keys_out[to] = key;
  values_out[to] = values[i];
}

int main() {
  const int n = 1500, blocks = (n + threads - 1) / threads;
  std::vector<unsigned> keys(n);
  std::vector<int> values(n);
  unsigned state = 5;
  for (int i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    keys[i] = (state >> 8) & 0xffff;
    values[i] = i;
  }
  unsigned *from = on_device(keys), *to = on_device(keys);
  int *values_from = on_device(values), *values_to = on_device(values);
  unsigned* counts = on_device(std::vector<unsigned>(digits * blocks));
  for (int shift = 0; shift < 16; shift += digit_bits) {
    count<<<blocks, threads>>>(from, n, shift, counts);
    scan<<<1, 32>>>(counts, digits * blocks);
    scatter<<<blocks, threads>>>(from, values_from, n, shift, counts, to, values_to);
    std::swap(from, to);
    std::swap(values_from, values_to);
  }
  std::stable_sort(values.begin(), values.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  expect("values", on_host(values_from, n), values);
  std::sort(keys.begin(), keys.end());
  expect("keys", on_host(from, n), keys);
}
