// A filter in two passes: its taps in constant memory, halos loaded by the threads, a radius that
// is an argument of a template, borders by clamping; and the same by one pass of all taps.
#include "check.h"

#define MAX_RADIUS 8
__constant__ float c_kernel[2 * MAX_RADIUS + 1];

template <int RADIUS, int TILE>
__global__ void rows(const float* src, float* dst, int width, int height, int pitch) {
  static_assert(RADIUS <= MAX_RADIUS, "taps have no room");
  __shared__ float line[TILE + 2 * RADIUS];
  const int y = blockIdx.y, start = blockIdx.x * TILE;
  const float* const row = src + y * pitch;
  for (int i = threadIdx.x; i < TILE + 2 * RADIUS; i += TILE)
    line[i] = row[min(max(start + i - RADIUS, 0), width - 1)];
  __syncthreads();
  const int x = start + threadIdx.x;
  if (x >= width) return;
  float sum = 0;
#pragma unroll
  for (int j = -RADIUS; j <= RADIUS; j++)
    sum += c_kernel[RADIUS - j] * line[threadIdx.x + RADIUS + j];
  dst[y * pitch + x] = sum;
}

template <int RADIUS, int BX, int BY>
__global__ void columns(const float* src, float* dst, int width, int height, int pitch) {
  __shared__ float s_data[BX][BY + 2 * RADIUS + 1];
  const int x = blockIdx.x * BX + threadIdx.x, y0 = blockIdx.y * BY;
  for (int i = threadIdx.y; i < BY + 2 * RADIUS; i += BY) {
    int y = y0 + i - RADIUS;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    s_data[threadIdx.x][i] = x < width ? src[y * pitch + x] : 0.f;
  }
  __syncthreads();
  const int y = y0 + threadIdx.y;
  if (x < width && y < height) {
    float sum = 0;
#pragma unroll
    for (int j = -RADIUS; j <= RADIUS; j++)
      sum = fmaf(c_kernel[RADIUS - j], s_data[threadIdx.x][threadIdx.y + j + RADIUS], sum);
    dst[y * pitch + x] = sum;
  }
}

template <int RADIUS>
__global__ void at_once(const float* src, float* dst, int width, int height, int pitch) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int j = -RADIUS; j <= RADIUS; j++)
    for (int i = -RADIUS; i <= RADIUS; i++) {
      const int xx = min(max(x + i, 0), width - 1), yy = min(max(y + j, 0), height - 1);
      sum += c_kernel[RADIUS - i] * c_kernel[RADIUS - j] * __ldg(&src[yy * pitch + xx]);
    }
  dst[y * pitch + x] = sum;
}

template <int RADIUS>
void filter(int width, int height) {
  const int pitch = (width + 31) / 32 * 32;
  float taps[2 * RADIUS + 1], all = 0;
  for (int i = 0; i <= 2 * RADIUS; ++i)
    all += taps[i] = expf(-0.1f * (i - RADIUS + 0.3f) * (i - RADIUS));
  for (auto& tap : taps) tap /= all;
  CUDA_CHECK(cudaMemcpyToSymbol(c_kernel, taps, sizeof taps));
  float *src = on_device(numbers(pitch * height, RADIUS)), *buffer, *dst;
  CUDA_CHECK(cudaMalloc(&buffer, pitch * height * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&dst, pitch * height * sizeof(float)));
  CUDA_CHECK(cudaMemset(dst, 0, pitch * height * sizeof(float)));
  rows<RADIUS, 64><<<dim3((width + 63) / 64, height), 64>>>(src, buffer, width, height, pitch);
  columns<RADIUS, 16, 8><<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(
      buffer, dst, width, height, pitch);
  const auto twice = on_host(dst, pitch * height);
  CUDA_CHECK(cudaMemset(dst, 0, pitch * height * sizeof(float)));
  at_once<RADIUS><<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(src, dst, width,
                                                                                 height, pitch);
  expect("two passes and one", twice, on_host(dst, pitch * height));
  if (std::fabs(twice[width + 2]) + std::fabs(twice[2]) == 0) exit(4);
}

int main() {
  filter<1>(40, 9);
  filter<4>(70, 21);
  filter<MAX_RADIUS>(33, 12);
}
