// The runtime's names beside copies and launches: boxes of memory, properties, complex numbers,
// members of cooperative groups, vectors for cuBLAS; and shared memory that memcpy and memset
// write.
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cuComplex.h>
#include <cublas_v2.h>
#include <cuda_profiler_api.h>

#include <cstring>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void plane(cudaPitchedPtr memory, int width, int height) {
  for (int y = 0; y < height; ++y) {
    float* row = reinterpret_cast<float*>(static_cast<char*>(memory.ptr) + memory.pitch * y);
    if (threadIdx.x < width) row[threadIdx.x] = 10 * y + threadIdx.x;
  }
}

__device__ int sum_of(cg::thread_group group, int* values, int value) {
  values[group.thread_rank()] = value;
  group.sync();
  int sum = 0;
  for (int i = 0; i < group.size(); ++i) sum += values[i];
  group.sync();
  return sum;
}

__global__ void groups(int* y) {
  __shared__ int values[64];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int i = threadIdx.x;
  y[i] = sum_of(block, values, 1) + 100 * static_cast<int>(cg::this_grid().num_blocks());
  y[64 + i] = __popc(warp.match_any(i % 3));
  y[128 + i] = cg::inclusive_scan(warp, i % 32) + cg::exclusive_scan(warp, 1);
  y[192 + i] = cg::labeled_partition(warp, i % 4).size();
  cg::invoke_one(warp, [&] { y[256 + i / 32] = i; });
}

__global__ void copied(float* y, const float* x, int n) {
  __shared__ float s[64], t[64];
  if (threadIdx.x == 0) {
    memcpy(s, x, n * sizeof(float));
    memset(t, 0, n * sizeof(float));
  }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x] + t[threadIdx.x];
}

__global__ void product(cuFloatComplex* z) { z[0] = cuCdivf(cuCmulf(z[0], z[1]), z[1]); }

int main() {
  cudaProfilerStart();
  cudaPitchedPtr memory;
  CUDA_CHECK(cudaMalloc3D(&memory, make_cudaExtent(8 * sizeof(float), 3, 1)));
  plane<<<1, 32>>>(memory, 8, 3);
  std::vector<float> rows(24), right(24);
  cudaMemcpy3DParms how = {};
  how.srcPtr = memory;
  how.dstPtr = make_cudaPitchedPtr(rows.data(), 8 * sizeof(float), 8, 3);
  how.extent = make_cudaExtent(8 * sizeof(float), 3, 1);
  how.kind = cudaMemcpyDeviceToHost;
  CUDA_CHECK(cudaMemcpy3D(&how));
  for (int i = 0; i < 24; ++i) right[i] = i / 8 * 10 + i % 8;
  expect("a plane", rows, right, 0);

  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  int threads = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxBlockDimZ, 0));
  if (properties.maxBlocksPerMultiProcessor < 16 || threads != 64) return 5;
  cudaEvent_t event;
  CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming));
  CUDA_CHECK(cudaEventRecordWithFlags(event, cudaStreamPerThread, cudaEventRecordDefault));
  float* pinned;
  CUDA_CHECK(cudaHostAlloc(&pinned, 256, cudaHostAllocWriteCombined | cudaHostAllocMapped));

  int* y = on_device(std::vector<int>(258));
  groups<<<1, 64>>>(y);
  std::vector<int> of_groups(258);
  for (int i = 0; i < 64; ++i) {
    of_groups[i] = 164;
    const int lane = i % 32, first = i - lane;
    for (int k = 0; k < 32; ++k) of_groups[64 + i] += (first + k) % 3 == i % 3;
    of_groups[128 + i] = lane * (lane + 1) / 2 + lane;
    of_groups[192 + i] = 8;
    of_groups[256 + i / 32] = first;
  }
  expect("groups", on_host(y, 258), of_groups, 0);

  const auto x = numbers(64);
  float* on_x = on_device(x);
  float* to = on_device(std::vector<float>(64));
  copied<<<1, 64>>>(to, on_x, 64);
  expect("memcpy and memset", on_host(to, 64), x, 0);

  cuFloatComplex* z = on_device(std::vector<cuFloatComplex>{{1, 2}, {3, -4}});
  product<<<1, 1>>>(z);
  const cuFloatComplex same = on_host(z, 1)[0];
  expect("complex", std::vector<float>{cuCrealf(same), cuCimagf(same)}, std::vector<float>{1, 2});

  std::vector<float> every(32);
  if (cublasSetVector(32, sizeof(float), x.data(), 2, to, 1) != CUBLAS_STATUS_SUCCESS ||
      cublasGetVector(32, sizeof(float), to, 1, every.data(), 1) != CUBLAS_STATUS_SUCCESS) {
    return 6;
  }
  std::vector<float> second(32);
  for (int i = 0; i < 32; ++i) second[i] = x[2 * i];
  expect("every second", every, second, 0);

  cudaProfilerStop();
}
