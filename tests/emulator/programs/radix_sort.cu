// A radix sort: flips that make floats sort like words, a digit's counts by votes, places from a
// table of all blocks, two buffers by turns.
#include <algorithm>
#include <climits>
#include <type_traits>
#include "check.h"

namespace radix {

constexpr int kBits = 4, kDigits = 1 << kBits, kThreads = 128;

template <typename Key>
struct Traits;
template <>
struct Traits<unsigned> {
  static __host__ __device__ unsigned encode(unsigned key) { return key; }
};
template <>
struct Traits<int> {
  static __host__ __device__ unsigned encode(int key) { return unsigned(key) ^ 0x80000000u; }
};
template <>
struct Traits<float> {
  static __device__ unsigned encode(float key) {
    const unsigned bits = __float_as_uint(key);
    return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
  }
};

template <typename Key>
__device__ __inline__ unsigned digit(Key key, int shift) {
  return (Traits<Key>::encode(key) >> shift) & (kDigits - 1);
}

/// How many threads of the block before this one have its digit; totals[d]: of all threads.
__device__ unsigned rank_in_block(unsigned mine, bool valid,
                                  unsigned (&counts)[kThreads / 32][kDigits]) {
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5u;
  unsigned rank = 0;
#pragma unroll
  for (unsigned d = 0; d < kDigits; ++d) {
    const unsigned same = __ballot_sync(0xffffffff, valid && mine == d);
    if (lane == 0) counts[warp][d] = __popc(same);
    if (mine == d) rank = __popc(same & ((1u << lane) - 1u));
  }
  __syncthreads();
  for (unsigned w = 0; w < warp; ++w) rank += counts[w][mine];
  return rank;
}

template <typename Key>
__global__ void count_digits(const Key* keys, unsigned* table, int n, int shift) {
  __shared__ unsigned bins[kDigits];
  if (threadIdx.x < kDigits) bins[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) atomicAdd_block(&bins[digit(keys[i], shift)], 1u);
  __syncthreads();
  if (threadIdx.x < kDigits) table[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

__global__ void scan_table(unsigned* table, int size) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  unsigned sum = 0;
  for (int i = 0; i < size; ++i) {
    const unsigned here = table[i];
    table[i] = sum;
    sum += here;
  }
}

template <typename Key>
__global__ void place(const Key* in, Key* out, const unsigned* table, int n, int shift) {
  __shared__ unsigned counts[kThreads / 32][kDigits];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const bool valid = i < n;
  const Key key = valid ? in[i] : Key();
  const unsigned mine = digit(key, shift);
  const unsigned rank = rank_in_block(mine, valid, counts);
  if (valid) out[table[mine * gridDim.x + blockIdx.x] + rank] = key;
}

template <typename Key>
std::vector<Key> sorted(const std::vector<Key>& host) {
  const int n = static_cast<int>(host.size()), blocks = (n + kThreads - 1) / kThreads;
  Key *keys = on_device(host), *other = on_device(host);
  unsigned* table;
  CUDA_CHECK(cudaMalloc(&table, sizeof(unsigned) * kDigits * blocks));
  for (int shift = 0; shift < int(sizeof(Key)) * CHAR_BIT; shift += kBits) {
    count_digits<<<blocks, kThreads>>>(keys, table, n, shift);
    scan_table<<<1, 1>>>(table, kDigits * blocks);
    place<Key><<<blocks, kThreads>>>(keys, other, table, n, shift);
    std::swap(keys, other);
  }
  return on_host(keys, host.size());
}

}  // namespace radix

template <typename Key>
void check(const char* what, std::vector<Key> keys) {
  static_assert(std::is_arithmetic<Key>::value, "numbers");
  const auto result = radix::sorted(keys);
  std::sort(keys.begin(), keys.end());
  expect(what, result, keys, 0);
}

int main() {
  check("floats", numbers(700));
  std::vector<int> ints(333);
  std::vector<unsigned> words(128);
  for (size_t i = 0; i < ints.size(); ++i) ints[i] = int(i * 2654435761u);
  for (size_t i = 0; i < words.size(); ++i) words[i] = unsigned(i * 40503u) << 9;
  check("ints", ints);
  check("words", words);
}
