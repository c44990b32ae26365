// Copies to shared memory that a thread does not wait for: in two stages by <cuda_pipeline.h>, and
// by a group with memcpy_async().
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include "check.h"

namespace cg = cooperative_groups;

template <int STAGES, int TILE>
__global__ void sums_of_tiles(const float4* in, float* out, int tiles) {
  __shared__ float4 stage[STAGES][TILE];
  const auto fetch = [&](int tile) {
    if (tile < tiles)
      __pipeline_memcpy_async(&stage[tile % STAGES][threadIdx.x], &in[tile * TILE + threadIdx.x],
                              sizeof(float4));
    __pipeline_commit();
  };
  for (int tile = 0; tile < STAGES - 1; ++tile) fetch(tile);
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + STAGES - 1);
    __pipeline_wait_prior(STAGES - 1);
    __syncthreads();
    const float4 other = stage[tile % STAGES][TILE - 1 - threadIdx.x];
    sum += other.x - other.y + other.z - other.w;
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  out[threadIdx.x] = sum;
}

/// The last four bytes are no source's: they become 0.
__global__ void filled(const float* in, float* out) {
  __shared__ alignas(16) float s[32][4];
  __pipeline_memcpy_async(s[threadIdx.x], in + 4 * threadIdx.x, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = s[threadIdx.x][i];
}

__global__ void by_a_group(const int* in, int* out, int n) {
  extern __shared__ int tile[];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * n, sizeof(int) * n);
  cg::wait(block);
  for (int i = block.thread_rank(); i < n; i += block.size())
    out[blockIdx.x * n + i] = tile[n - 1 - i];
}

__global__ void by_warps(const int* in, int* out) {
  __shared__ int rows[4][64];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int* const row = rows[warp.meta_group_rank()];
  cg::memcpy_async(warp, row, in + 64 * warp.meta_group_rank(), 64 * sizeof(int));
  cg::wait_prior<0>(warp);
  const int pair = row[warp.thread_rank()] + row[63 - warp.thread_rank()];
  out[threadIdx.x] = pair;
}

/// Where neither begins at a word: bytes.
__global__ void not_aligned(const char* in, char* out, int bytes) {
  __shared__ char kept[256];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  cg::memcpy_async(warp, kept + 3, in + 1, bytes);
  cg::wait(warp);
  for (int i = threadIdx.x; i < bytes; i += 32) out[i] = kept[3 + bytes - 1 - i];
}

int main() {
  constexpr int TILE = 64, tiles = 5;
  const auto x = numbers(4 * TILE * tiles);
  std::vector<float> right(TILE), zeros;
  for (int tile = 0; tile < tiles; ++tile)
    for (int t = 0; t < TILE; ++t) {
      const float* const four = &x[4 * (tile * TILE + TILE - 1 - t)];
      right[t] += four[0] - four[1] + four[2] - four[3];
    }
  float *in = on_device(x), *out = on_device(std::vector<float>(128));
  sums_of_tiles<2, TILE><<<1, TILE>>>((const float4*)in, out, tiles);
  expect("two stages", on_host(out, TILE), right);
  sums_of_tiles<3, TILE><<<1, TILE>>>((const float4*)in, out, tiles);
  expect("three stages", on_host(out, TILE), right);
  filled<<<1, 32>>>(in, out);
  for (int i = 0; i < 128; ++i) zeros.push_back(i % 4 == 3 ? 0 : x[i]);
  expect("zeros", on_host(out, 128), zeros, 0);

  const int n = 100;
  std::vector<int> host(3 * n), turned(3 * n), pairs(128);
  for (int i = 0; i < 3 * n; ++i) host[i] = i * i % 1009;
  for (int i = 0; i < 3 * n; ++i) turned[i] = host[i / n * n + n - 1 - i % n];
  int *ints = on_device(host), *result = on_device(host);
  by_a_group<<<3, 64, n * sizeof(int)>>>(ints, result, n);
  expect("a group", on_host(result, 3 * n), turned, 0);
  for (int i = 0; i < 128; ++i)
    pairs[i] = host[i / 32 * 64 + i % 32] + host[i / 32 * 64 + 63 - i % 32];
  by_warps<<<1, 128>>>(ints, result);
  expect("warps", on_host(result, 128), pairs, 0);

  not_aligned<<<1, 32>>>((const char*)ints, (char*)result, 199);
  const std::vector<int> words = on_host(ints, 50), back = on_host(result, 50);
  const char *from = (const char*)words.data(), *to = (const char*)back.data();
  std::vector<int> bytes, wanted;
  for (int i = 0; i < 199; ++i) bytes.push_back(to[i]), wanted.push_back(from[199 - i]);
  expect("bytes", bytes, wanted, 0);
}
