// A sum in four versions, as courses teach them: interleaved, sequential, first add while loading
// with the last warp by shuffles, and shuffles alone.
#include "check.h"

constexpr int BLOCK = 128;

__global__ void interleaved(const float* in, float* out, int n) {
  __shared__ float s[BLOCK];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (t % (2 * step) == 0) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}

__global__ void sequential(const float* in, float* out, int n) {
  extern __shared__ float s[];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

template <unsigned block>
__global__ void first_add(const float* in, float* out, int n) {
  __shared__ float s[block];
  const unsigned t = threadIdx.x, i = blockIdx.x * block * 2 + t;
  s[t] = (i < n ? in[i] : 0.0f) + (i + block < n ? in[i + block] : 0.0f);
  __syncthreads();
  for (unsigned step = block / 2; step > 16; step >>= 1) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  if (t < 32) {
    const float sum = warp_sum(t < 32 ? s[t] : 0.0f);
    if (t == 0) atomicAdd(out, block >= 32 ? sum : 0.0f);
  }
}

__global__ void __launch_bounds__(BLOCK) shuffles(const float* __restrict__ in, float* out, int n) {
  static __shared__ float of_warp[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += __ldg(&in[i]);
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  sum = warp_sum(sum);
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x + 31) / 32 ? of_warp[lane] : 0.0f;
    sum = warp_sum(sum);
    if (lane == 0) atomicAdd(out, sum);
  }
}

int main() {
  const int n = 5000, blocks = (n + BLOCK - 1) / BLOCK;
  const auto in = numbers(n);
  double sum = 0;
  for (const float x : in) sum += x;
  const std::vector<double> right{sum};
  float *d_in = on_device(in), *d_out;
  CUDA_CHECK(cudaMalloc(&d_out, sizeof(float)));
  const auto check = [&](const char* what) {
    expect(what, on_host(d_out, 1), right, 1e-4);
    CUDA_CHECK(cudaMemset(d_out, 0, sizeof(float)));
  };
  CUDA_CHECK(cudaMemset(d_out, 0, sizeof(float)));
  interleaved<<<blocks, BLOCK>>>(d_in, d_out, n);
  check("interleaved");
  sequential<<<blocks, BLOCK, BLOCK * sizeof(float)>>>(d_in, d_out, n);
  check("sequential");
  first_add<BLOCK><<<(blocks + 1) / 2, BLOCK>>>(d_in, d_out, n);
  check("first_add");
  shuffles<<<8, BLOCK>>>(d_in, d_out, n);
  check("shuffles");
}
