// Forces between bodies, by tiles of float4; events take the time.
#include "check.h"

__device__ float3 interact(float4 a, float4 b, float3 sum) {
  const float3 r = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
  const float d2 = r.x * r.x + r.y * r.y + r.z * r.z + 1e-2f;
  const float inverse = rsqrtf(d2), s = b.w * inverse * inverse * inverse;
  sum.x += r.x * s;
  sum.y += r.y * s;
  sum.z += r.z * s;
  return sum;
}

__global__ void forces(const float4* bodies, float3* acceleration, int n) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 mine = bodies[min(i, n - 1)];
  float3 sum = {0, 0, 0};
  for (int first = 0; first < n; first += blockDim.x) {
    const int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < blockDim.x; ++k) sum = interact(mine, tile[k], sum);
    __syncthreads();
  }
  if (i < n) acceleration[i] = sum;
}

int main() {
  const int n = 200;
  const auto values = numbers(4 * n);
  std::vector<float4> bodies(n);
  for (int i = 0; i < n; ++i)
    bodies[i] = {values[4 * i], values[4 * i + 1], values[4 * i + 2], 1 + values[4 * i + 3]};
  std::vector<double> right(n);
  for (int i = 0; i < n; ++i)
    for (const float4& b : bodies) {
      const double x = b.x - bodies[i].x, y = b.y - bodies[i].y, z = b.z - bodies[i].z;
      right[i] += x * b.w / std::pow(x * x + y * y + z * z + 1e-2, 1.5);
    }
  auto* d_bodies = on_device(bodies);
  float3* d_acceleration;
  CUDA_CHECK(cudaMallocManaged(&d_acceleration, n * sizeof(float3)));
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventRecord(start));
  forces<<<(n + 63) / 64, 64, 64 * sizeof(float4)>>>(d_bodies, d_acceleration, n);
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = -1;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  if (ms < 0) return 5;
  std::vector<float> along_x(n);
  for (int i = 0; i < n; ++i) along_x[i] = d_acceleration[i].x;
  expect("forces", along_x, right, 1e-3);
}
