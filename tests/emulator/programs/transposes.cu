// Transposes as samples teach them: a table of kernels, tiles of shared memory with a column to
// spare, blocks numbered along diagonals, and in place by pairs of tiles.
#include "check.h"

#define TILE_DIM 32
#define BLOCK_ROWS 8

template <typename T>
__global__ void naive(T* __restrict__ out, const T* __restrict__ in, int width, int height) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height) out[x * height + y + j] = in[(y + j) * width + x];
}

template <typename T>
__device__ void through_tile(T* out, const T* in, int width, int height, int bx, int by) {
  __shared__ T tile[TILE_DIM][TILE_DIM + 1];
  int x = bx * TILE_DIM + threadIdx.x, y = by * TILE_DIM + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = by * TILE_DIM + threadIdx.x;
  y = bx * TILE_DIM + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

template <typename T>
__global__ void no_bank_conflicts(T* __restrict__ out, const T* __restrict__ in, int w, int h) {
  through_tile(out, in, w, h, blockIdx.x, blockIdx.y);
}

template <typename T>
__global__ void diagonal(T* __restrict__ out, const T* __restrict__ in, int w, int h) {
  int bid = blockIdx.x + gridDim.x * blockIdx.y;
  int by = bid % gridDim.y, bx = (bid / gridDim.y + by) % gridDim.x;
  through_tile(out, in, w, h, bx, by);
}

__global__ void in_place(float* a, int n) {
  __shared__ float upper[16][17], lower[16][17];
  if (blockIdx.x < blockIdx.y) return;
  const int tx = threadIdx.x, ty = threadIdx.y, ux = blockIdx.x * 16, uy = blockIdx.y * 16;
  upper[ty][tx] = a[(uy + ty) * n + ux + tx];
  lower[ty][tx] = a[(ux + ty) * n + uy + tx];
  __syncthreads();
  a[(uy + ty) * n + ux + tx] = lower[tx][ty];
  if (ux != uy) a[(ux + ty) * n + uy + tx] = upper[tx][ty];
}

template <typename T>
void run_all(const char* name, int w, int h) {
  std::vector<T> host(w * h), right(w * h);
  for (int i = 0; i < w * h; ++i) host[i] = right[i % w * h + i / w] = T(i % 251);
  T *in = on_device(host), *out = nullptr;
  CUDA_CHECK(cudaMalloc((void**)&out, w * h * sizeof(T)));
  void (*const kernels[])(T*, const T*, int, int) = {&naive<T>, no_bank_conflicts<T>, diagonal};
  const dim3 grid((w + TILE_DIM - 1) / TILE_DIM, (h + TILE_DIM - 1) / TILE_DIM);
  for (int k = 0; k < int(sizeof(kernels) / sizeof(*kernels)); k++) {
    CUDA_CHECK(cudaMemset(out, 0, w * h * sizeof(T)));
    kernels[k]<<<grid, dim3(TILE_DIM, BLOCK_ROWS, 1)>>>(out, in, w, h);
    expect(name, on_host(out, w * h), right, 0);
  }
  CUDA_CHECK(cudaFree(in));
  CUDA_CHECK(cudaFree(out));
}

int main(void) {
  run_all<float>("float", 65, 40);
  run_all<double>("double", 33, 64);
  run_all<unsigned char>("bytes", 32, 7);
  const int n = 48;
  auto host = numbers(n * n);
  std::vector<float> right(n * n);
  for (int i = 0; i < n * n; ++i) right[i % n * n + i / n] = host[i];
  float* a = on_device(host);
  in_place<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, n);
  expect("in place", on_host(a, n * n), right, 0);
}
