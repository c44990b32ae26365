// A convolution of rows with the filter in constant memory; and a stencil of 5 points in 2D tiles.
#include "check.h"

#define RADIUS 4
__constant__ float filter[2 * RADIUS + 1];

__global__ void convolve(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float tile[256 + 2 * RADIUS];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + RADIUS;
  tile[t] = i < n ? in[i] : 0;
  if (threadIdx.x < RADIUS) {
    tile[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
    const int far = i + blockDim.x;
    tile[t + blockDim.x] = far < n ? in[far] : 0;
  }
  __syncthreads();
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += filter[k + RADIUS] * tile[t + k];
  out[i] = sum;
}

__global__ void stencil(const double* in, double* out, int w, int h) {
  const int x = threadIdx.x + blockDim.x * blockIdx.x, y = threadIdx.y + blockDim.y * blockIdx.y;
  if (x == 0 || y == 0 || x >= w - 1 || y >= h - 1) return;
  const auto at = [&](int dx, int dy) { return in[(y + dy) * w + x + dx]; };
  out[y * w + x] = 0.25 * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1));
}

int main() {
  const int n = 1000;
  const auto in = numbers(n), weights = numbers(2 * RADIUS + 1, 5);
  std::vector<double> right(n);
  for (int i = 0; i < n; ++i)
    for (int k = -RADIUS; k <= RADIUS; ++k)
      if (i + k >= 0 && i + k < n) right[i] += double(weights[k + RADIUS]) * in[i + k];
  CUDA_CHECK(cudaMemcpyToSymbol(filter, weights.data(), sizeof(filter)));
  float *d_in = on_device(in), *d_out = on_device(std::vector<float>(n));
  const int block = 256;
  convolve<<<(n + block - 1) / block, block>>>(d_in, d_out, n);
  expect("convolve", on_host(d_out, n), right);

  const int w = 30, h = 21;
  std::vector<double> plane(w * h), smooth(w * h);
  for (int i = 0; i < w * h; ++i) plane[i] = in[i];
  for (int y = 1; y < h - 1; ++y)
    for (int x = 1; x < w - 1; ++x)
      smooth[y * w + x] = 0.25 * (plane[y * w + x - 1] + plane[y * w + x + 1] +
                                  plane[(y - 1) * w + x] + plane[(y + 1) * w + x]);
  double *d_plane = on_device(plane), *d_smooth = on_device(std::vector<double>(w * h));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  stencil<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8), 0, stream>>>(d_plane, d_smooth, w, h);
  CUDA_CHECK(cudaStreamSynchronize(stream));
  expect("stencil", on_host(d_smooth, w * h), smooth, 1e-15);
  CUDA_CHECK(cudaStreamDestroy(stream));
}
