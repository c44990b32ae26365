// Heat in three dimensions: boxes of pitched memory, a stencil that keeps a column of values in
// registers and a plane in shared memory, and the largest change by atomics on a float's bits.
#include "check.h"

#define INDEX(x, y, z) ((char*)grid.ptr + ((z)*grid.ysize + (y)) * grid.pitch)
#define AT(grid_, x, y, z) \
  ([&](const cudaPitchedPtr& grid) -> float& { return ((float*)INDEX(x, y, z))[x]; }(grid_))

constexpr int R = 1, BX = 16, BY = 4;
__constant__ float coefficients[2];

__device__ void keep_largest(float* most, float value) {
  // The bits of floats that are not negative are in the floats' order.
  atomicMax((int*)most, __float_as_int(value));
}

__global__ void diffuse(cudaPitchedPtr from, cudaPitchedPtr to, cudaExtent extent, float* most) {
  __shared__ float plane[BY + 2 * R][BX + 2 * R];
  const int nx = int(extent.width / sizeof(float)), ny = int(extent.height), nz = int(extent.depth);
  const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  const int tx = threadIdx.x + R, ty = threadIdx.y + R;
  const bool inside = x < nx && y < ny;
  const bool inner = inside && x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
  float behind, current = inside ? AT(from, x, y, 0) : 0, infront = inside ? AT(from, x, y, 1) : 0;
  float change = 0;
  for (int z = 1; z < nz - 1; ++z) {
    behind = current, current = infront;
    infront = inside ? AT(from, x, y, z + 1) : 0;
    plane[ty][tx] = current;
    if (threadIdx.x == 0 && inside) plane[ty][0] = x > 0 ? AT(from, x - 1, y, z) : 0;
    if (threadIdx.x == BX - 1 && inside) plane[ty][tx + R] = x + 1 < nx ? AT(from, x + 1, y, z) : 0;
    if (threadIdx.y == 0 && inside) plane[0][tx] = y > 0 ? AT(from, x, y - 1, z) : 0;
    if (threadIdx.y == BY - 1 && inside) plane[ty + R][tx] = y + 1 < ny ? AT(from, x, y + 1, z) : 0;
    __syncthreads();
    if (inner) {
      const float next =
          coefficients[0] * current +
          coefficients[1] * (behind + infront + plane[ty][tx - 1] + plane[ty][tx + 1] +
                             plane[ty - 1][tx] + plane[ty + 1][tx]);
      AT(to, x, y, z) = next;
      change = fmaxf(change, fabsf(next - current));
    }
    __syncthreads();
  }
  for (int d = 16; d > 0; d /= 2) change = fmaxf(change, __shfl_xor_sync(~0u, change, d));
  if ((threadIdx.y * BX + threadIdx.x) % 32 == 0) keep_largest(most, change);
}

int main() {
  const int nx = 20, ny = 10, nz = 7, n = nx * ny * nz, steps = 3;
  std::vector<float> host = numbers(n), other = host, most(steps);
  const cudaExtent extent = make_cudaExtent(nx * sizeof(float), ny, nz);
  cudaPitchedPtr grids[2];
  for (cudaPitchedPtr& grid : grids) {
    CUDA_CHECK(cudaMalloc3D(&grid, extent));
    cudaMemcpy3DParms parms = {0};
    parms.srcPtr = make_cudaPitchedPtr(host.data(), nx * sizeof(float), nx, ny);
    parms.dstPtr = grid;
    parms.extent = extent;
    parms.kind = cudaMemcpyHostToDevice;
    CUDA_CHECK(cudaMemcpy3D(&parms));
  }
  const float h[2] = {0.4f, 0.1f};
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, h, sizeof(h), 0, cudaMemcpyHostToDevice));
  float* d_most = on_device(most);
  const auto at = [&](int x, int y, int z) { return (z * ny + y) * nx + x; };
  for (int s = 0; s < steps; ++s) {
    diffuse<<<dim3((nx + BX - 1) / BX, (ny + BY - 1) / BY), dim3(BX, BY)>>>(
        grids[s & 1], grids[~s & 1], extent, d_most + s);
    for (int z = 1; z < nz - 1; ++z)
      for (int y = 1; y < ny - 1; ++y)
        for (int x = 1; x < nx - 1; ++x) {
          other[at(x, y, z)] =
              h[0] * host[at(x, y, z)] +
              h[1] * (host[at(x, y, z - 1)] + host[at(x, y, z + 1)] + host[at(x - 1, y, z)] +
                      host[at(x + 1, y, z)] + host[at(x, y - 1, z)] + host[at(x, y + 1, z)]);
          most[s] = fmaxf(most[s], fabsf(other[at(x, y, z)] - host[at(x, y, z)]));
        }
    host.swap(other);
  }
  expect("changes", on_host(d_most, steps), most);
  std::vector<float> result(n);
  cudaMemcpy3DParms parms = {};
  parms.srcPtr = grids[steps & 1];
  parms.dstPtr = make_cudaPitchedPtr(result.data(), nx * sizeof(float), nx, ny);
  parms.extent = extent;
  parms.kind = cudaMemcpyDeviceToHost;
  CUDA_CHECK(cudaMemcpy3D(&parms));
  expect("heat", result, host);
}
