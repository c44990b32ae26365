// An N-body simulation: bodies in tiles of float4 in shared memory, an interaction in a function of
// its own, leapfrog steps on swapped buffers, and the energy, which the host follows.
#include <algorithm>
#include "check.h"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 64
#endif
#define SOFTENING 1e-2f

__device__ float3 body_body(float4 bi, float4 bj, float3 ai) {
  float3 r;
  r.x = bj.x - bi.x;
  r.y = bj.y - bi.y;
  r.z = bj.z - bi.z;
  const float square = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
  const float inverse = rsqrtf(square);
  const float s = bj.w * inverse * inverse * inverse;
  ai.x += r.x * s;
  ai.y += r.y * s;
  ai.z += r.z * s;
  return ai;
}

__device__ float3 tile_calculation(float4 mine, float3 accel) {
  extern __shared__ float4 sh_position[];
#pragma unroll 8
  for (unsigned i = 0; i < blockDim.x; i++) accel = body_body(mine, sh_position[i], accel);
  return accel;
}

__global__ void step(const float4* __restrict__ old_at, float4* __restrict__ new_at,
                     float4* velocity, int n, float dt) {
  extern __shared__ float4 sh_position[];
  const int gtid = blockIdx.x * blockDim.x + threadIdx.x;
  float4 mine = old_at[gtid];
  float3 acc = {0.0f, 0.0f, 0.0f};
  for (int i = 0, tile = 0; i < n; i += BLOCK_SIZE, tile++) {
    sh_position[threadIdx.x] = old_at[tile * blockDim.x + threadIdx.x];
    __syncthreads();
    acc = tile_calculation(mine, acc);
    __syncthreads();
  }
  float4 v = velocity[gtid];
  v.x += acc.x * dt, v.y += acc.y * dt, v.z += acc.z * dt;
  mine.x += v.x * dt, mine.y += v.y * dt, mine.z += v.z * dt;
  velocity[gtid] = v;
  new_at[gtid] = mine;
}

static void step_on_host(std::vector<float4>& at, std::vector<float4>& v, float dt) {
  const std::vector<float4> old = at;
  for (size_t i = 0; i < at.size(); ++i) {
    double a[3] = {0, 0, 0};
    for (const float4& other : old) {
      const double x = other.x - old[i].x, y = other.y - old[i].y, z = other.z - old[i].z;
      const double square = x * x + y * y + z * z + SOFTENING;
      const double s = other.w / (square * std::sqrt(square));
      a[0] += x * s, a[1] += y * s, a[2] += z * s;
    }
    v[i].x += float(a[0]) * dt, v[i].y += float(a[1]) * dt, v[i].z += float(a[2]) * dt;
    at[i].x += v[i].x * dt, at[i].y += v[i].y * dt, at[i].z += v[i].z * dt;
  }
}

int main() {
  const int n = 2 * BLOCK_SIZE, steps = 3;
  const float dt = 0.01f;
  const auto random = numbers(3 * n, 5);
  std::vector<float4> at(n), v(n, make_float4(0, 0, 0, 0));
  for (int i = 0; i < n; i++)
    at[i] = make_float4(random[3 * i], random[3 * i + 1], random[3 * i + 2], 1.0f / n);
  float4 *d_at[2] = {on_device(at), on_device(at)}, *d_v = on_device(v);
  int current = 0;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventRecord(start, 0));
  for (int s = 0; s < steps; s++, current ^= 1) {
    step<<<n / BLOCK_SIZE, BLOCK_SIZE, BLOCK_SIZE * sizeof(float4), 0>>>(
        d_at[current], d_at[1 - current], d_v, n, dt);
    step_on_host(at, v, dt);
  }
  CUDA_CHECK(cudaEventRecord(stop, 0));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = -1.0f;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  if (ms < 0) return 5;
  const auto flat = [](const std::vector<float4>& all) {
    return std::vector<float>(&all[0].x, &all[0].x + 4 * all.size());
  };
  expect("places", flat(on_host(d_at[current], n)), flat(at), 1e-4);
  expect("velocities", flat(on_host(d_v, n)), flat(v), 1e-4);
}
