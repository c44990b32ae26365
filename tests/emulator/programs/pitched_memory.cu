// Images in pitched memory: grey from RGBA.
#include "check.h"

__global__ void to_grey(const uchar4* rgba, unsigned char* grey, size_t pitch, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const uchar4 p = rgba[y * w + x];
  (grey + y * pitch)[x] = static_cast<unsigned char>((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
}

int main() {
  const int w = 61, h = 40;
  std::vector<uchar4> rgba(w * h);
  const auto random = numbers(3 * w * h);
  const auto byte = [&](int i) { return static_cast<unsigned char>((random[i] + 1) * 127); };
  std::vector<int> grey(w * h);
  for (int i = 0; i < w * h; ++i) {
    rgba[i] = make_uchar4(byte(3 * i), byte(3 * i + 1), byte(3 * i + 2), 255);
    grey[i] = (77 * rgba[i].x + 150 * rgba[i].y + 29 * rgba[i].z) >> 8;
  }

  unsigned char *d_grey, *d_blank;
  size_t pitch, pitch_blank;
  CUDA_CHECK(cudaMallocPitch(&d_grey, &pitch, w, h));
  CUDA_CHECK(cudaMallocPitch((void**)&d_blank, &pitch_blank, w * sizeof(unsigned char), h));
  if (pitch != pitch_blank || pitch < w) return 5;
  const dim3 block(32, 4), grid((w + 31) / 32, (h + 3) / 4);
  const auto result = [&](const unsigned char* from) {
    std::vector<unsigned char> image(w * h);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy2D(image.data(), w, from, pitch, w, h, cudaMemcpyDeviceToHost));
    return image;
  };
  to_grey<<<grid, block>>>(on_device(rgba), d_grey, pitch, w, h);
  expect("grey", result(d_grey), grey, 0);
  CUDA_CHECK(cudaMemset2D(d_blank, pitch, 0xAB, w, h));
  expect("blank", result(d_blank), std::vector<int>(w * h, 0xAB), 0);
}
