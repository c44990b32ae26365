// Prefix sums of a block: Hillis and Steele in two buffers, Blelloch's sweeps, and by shuffles.
#include "check.h"

constexpr int n = 256;

__global__ void hillis_steele(const float* in, float* out) {
  extern __shared__ float buffer[];
  int now = 0;
  buffer[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int offset = 1; offset < n; offset <<= 1) {
    now = 1 - now;
    const float* from = buffer + (1 - now) * n;
    float* to = buffer + now * n;
    to[threadIdx.x] =
        threadIdx.x >= offset ? from[threadIdx.x] + from[threadIdx.x - offset] : from[threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = buffer[now * n + threadIdx.x];
}

__global__ void blelloch(const float* in, float* out) {
  __shared__ float s[n];
  const int t = threadIdx.x;  // of n / 2
  s[2 * t] = in[2 * t];
  s[2 * t + 1] = in[2 * t + 1];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) s[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
      const float old = s[left];
      s[left] = s[right];
      s[right] += old;
    }
  }
  __syncthreads();
  out[2 * t] = s[2 * t] + in[2 * t];  // inclusive
  out[2 * t + 1] = s[2 * t + 1] + in[2 * t + 1];
}

__device__ __forceinline__ float warp_scan(float value) {
  const unsigned lane = threadIdx.x % warpSize;
  for (int d = 1; d < 32; d *= 2) {
    const float other = __shfl_up_sync(0xffffffffu, value, d);
    if (lane >= d) value += other;
  }
  return value;
}

__global__ void by_shuffles(const float* in, float* out) {
  __shared__ float sums[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float value = warp_scan(in[threadIdx.x]);
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    float sum = lane < blockDim.x / 32 ? sums[lane] : 0;
    sums[lane] = warp_scan(sum);
  }
  __syncthreads();
  out[threadIdx.x] = warp > 0 ? value + sums[warp - 1] : value;
}

int main() {
  const auto in = numbers(n);
  std::vector<double> right(n);
  double sum = 0;
  for (int i = 0; i < n; ++i) right[i] = sum += in[i];
  float *d_in = on_device(in), *d_out = on_device(std::vector<float>(n));
  hillis_steele<<<1, n, 2 * n * sizeof(float)>>>(d_in, d_out);
  expect("hillis_steele", on_host(d_out, n), right);
  blelloch<<<1, n / 2>>>(d_in, d_out);
  expect("blelloch", on_host(d_out, n), right);
  by_shuffles<<<1, n>>>(d_in, d_out);
  expect("by_shuffles", on_host(d_out, n), right);
}
