// Histograms: counters of one's own in shared memory, four bytes of a text at a time, a counter
// for each warp, and the largest bin by packing count and bin into one word.
#include <cstdint>
#include <cstring>
#include <string>
#include "check.h"

constexpr unsigned BINS = 256u, WARPS = 4u;

__global__ void with_global_atomics(const unsigned char* text, size_t size, unsigned int* bins) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x)
    atomicAdd(bins + text[i], 1u);
}

__global__ void privatized(const uchar4* text, size_t fours, unsigned int* bins) {
  __shared__ unsigned int own[BINS];
  for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x) own[b] = 0u;
  __syncthreads();
  const auto count = [&](unsigned char letter) { atomicAdd(&own[letter], 1u); };
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += blockDim.x * gridDim.x) {
    const uchar4 four = text[i];
    count(four.x), count(four.y), count(four.z), count(four.w);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x)
    if (own[b] != 0) atomicAdd(&bins[b], own[b]);
}

__global__ void for_each_warp(const unsigned char* text, size_t size, unsigned int* bins) {
  extern __shared__ unsigned int counters[];
  unsigned int* const own = counters + threadIdx.x / warpSize * BINS;
  for (unsigned b = threadIdx.x; b < BINS * WARPS; b += blockDim.x) counters[b] = 0;
  __syncthreads();
  for (size_t i = threadIdx.x; i < size; i += blockDim.x) {
    // One lane counts for all that have its letter.
    const unsigned active = __activemask();
    const unsigned same = __match_any_sync(active, text[i]);
    if (__ffs(same) - 1 == int(threadIdx.x % 32)) atomicAdd(own + text[i], __popc(same));
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < BINS; b += blockDim.x) {
    unsigned sum = 0;
#pragma unroll 4
    for (unsigned warp = 0; warp < WARPS; ++warp) sum += counters[warp * BINS + b];
    bins[b] = sum;
  }
}

__global__ void commonest(const unsigned* bins, unsigned long long* best) {
  const uint64_t packed = (uint64_t(bins[threadIdx.x]) << 32) | threadIdx.x;
  atomicMax(best, static_cast<unsigned long long>(packed));
}

int main() {
  std::string text;
  while (text.size() < 4000) text += "the quick brown fox jumps over the lazy dog; ";
  text.resize(text.size() / 4 * 4);
  std::vector<unsigned> right(BINS);
  for (unsigned char letter : text) ++right[letter];

  unsigned char* d_text;
  unsigned* d_bins;
  CUDA_CHECK(cudaMalloc(&d_text, text.size()));
  CUDA_CHECK(cudaMalloc(&d_bins, BINS * sizeof *d_bins));
  CUDA_CHECK(cudaMemcpy(d_text, text.c_str(), text.size(), cudaMemcpyHostToDevice));

  CUDA_CHECK(cudaMemset(d_bins, 0, BINS * sizeof *d_bins));
  with_global_atomics<<<3, 128>>>(d_text, text.size(), d_bins);
  expect("global atomics", on_host(d_bins, BINS), right, 0);

  CUDA_CHECK(cudaMemset(d_bins, 0, BINS * sizeof *d_bins));
  privatized<<<4, 96>>>(reinterpret_cast<const uchar4*>(d_text), text.size() / 4, d_bins);
  expect("shared atomics", on_host(d_bins, BINS), right, 0);

  for_each_warp<<<1, 32 * WARPS, BINS * WARPS * sizeof(unsigned)>>>(d_text, text.size(), d_bins);
  expect("a histogram for each warp", on_host(d_bins, BINS), right, 0);

  auto* best = on_device(std::vector<unsigned long long>{0});
  commonest<<<1, BINS>>>(d_bins, best);
  expect("the commonest", std::vector<unsigned>{unsigned(on_host(best, 1)[0])},
         std::vector<unsigned>{' '}, 0);
}
