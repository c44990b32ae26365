// Filters of images in pitched memory: grey from RGBA, Sobel's gradient.
#include <algorithm>
#include "check.h"

__global__ void to_grey(const uchar4* rgba, unsigned char* grey, size_t pitch, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const uchar4 p = rgba[y * w + x];
  (grey + y * pitch)[x] = static_cast<unsigned char>((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
}

__device__ int at(const unsigned char* image, size_t pitch, int w, int h, int x, int y) {
  x = max(0, min(x, w - 1));
  y = max(0, min(y, h - 1));
  return image[y * pitch + x];
}

__constant__ int sobel_x[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};

__global__ void sobel(const unsigned char* in, unsigned char* out, size_t pitch, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int gx = 0, gy = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      const int p = at(in, pitch, w, h, x + dx, y + dy);
      gx += sobel_x[(dy + 1) * 3 + dx + 1] * p;
      gy += sobel_x[(dx + 1) * 3 + dy + 1] * p;
    }
  out[y * pitch + x] = static_cast<unsigned char>(min(255, abs(gx) + abs(gy)));
}

int main() {
  const int w = 61, h = 40;
  std::vector<uchar4> rgba(w * h);
  const auto random = numbers(3 * w * h);
  const auto byte = [&](int i) { return static_cast<unsigned char>((random[i] + 1) * 127); };
  std::vector<int> grey(w * h), edges(w * h);
  for (int i = 0; i < w * h; ++i) {
    rgba[i] = make_uchar4(byte(3 * i), byte(3 * i + 1), byte(3 * i + 2), 255);
    grey[i] = (77 * rgba[i].x + 150 * rgba[i].y + 29 * rgba[i].z) >> 8;
  }
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      int v[9];
      for (int i = 0; i < 9; ++i)
        v[i] = grey[std::clamp(y + i / 3 - 1, 0, h - 1) * w + std::clamp(x + i % 3 - 1, 0, w - 1)];
      const int gx = v[2] + 2 * v[5] + v[8] - v[0] - 2 * v[3] - v[6];
      const int gy = v[6] + 2 * v[7] + v[8] - v[0] - 2 * v[1] - v[2];
      edges[y * w + x] = std::min(255, std::abs(gx) + std::abs(gy));
    }
  unsigned char *d_grey, *d_out;
  size_t pitch, pitch_out;
  CUDA_CHECK(cudaMallocPitch(&d_grey, &pitch, w, h));
  CUDA_CHECK(cudaMallocPitch((void**)&d_out, &pitch_out, w * sizeof(unsigned char), h));
  if (pitch != pitch_out || pitch < w) return 5;
  const dim3 block(32, 4), grid((w + 31) / 32, (h + 3) / 4);
  const auto result = [&](const unsigned char* from) {
    std::vector<unsigned char> image(w * h);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy2D(image.data(), w, from, pitch, w, h, cudaMemcpyDeviceToHost));
    return image;
  };
  to_grey<<<grid, block>>>(on_device(rgba), d_grey, pitch, w, h);
  expect("grey", result(d_grey), grey, 0);
  CUDA_CHECK(cudaMemset2D(d_out, pitch, 0xAB, w, h));
  sobel<<<grid, block>>>(d_grey, d_out, pitch, w, h);
  expect("edges", result(d_out), edges, 0);
}
