// A transpose: naive, by tiles, by padded tiles.
#include "check.h"

const int TILE_DIM = 32, ROWS = 8;

__global__ void naive(float* out, const float* in, int width, int height) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += ROWS)
    if (x < width && y + j < height) out[x * height + (y + j)] = in[(y + j) * width + x];
}

template <int pad>
__global__ void tiled(float* out, const float* in, int width, int height) {
  __shared__ float tile[TILE_DIM][TILE_DIM + pad];
  int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += ROWS)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  const int width = 70, height = 41;
  const auto in = numbers(width * height);
  std::vector<float> right(in.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) right[x * height + y] = in[y * width + x];
  float *d_in = on_device(in), *d_out = on_device(std::vector<float>(in.size()));
  const dim3 grid((width + TILE_DIM - 1) / TILE_DIM, (height + TILE_DIM - 1) / TILE_DIM);
  const dim3 threads(TILE_DIM, ROWS, 1);
  naive<<<grid, threads>>>(d_out, d_in, width, height);
  expect("naive", on_host(d_out, in.size()), right, 0);
  tiled<0><<<grid, threads>>>(d_out, d_in, width, height);
  expect("tiled<0>", on_host(d_out, in.size()), right, 0);
  tiled<1><<<grid, threads>>>(d_out, d_in, width, height);
  expect("tiled<1>", on_host(d_out, in.size()), right, 0);
}
