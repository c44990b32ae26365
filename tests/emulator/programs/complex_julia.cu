// A Julia set with cuComplex, in rows as far apart as the device wants, copied and cleared by the
// asynchronous forms.
#include <cuComplex.h>

#include "check.h"

__host__ __device__ int steps_of(float x, float y) {
  cuFloatComplex z = make_cuFloatComplex(x, y);
  const cuFloatComplex c = make_cuComplex(-0.8f, 0.156f);
  int steps = 0;
  while (steps < 50 && cuCabsf(z) < 2) {
    z = cuCaddf(cuCmulf(z, z), c);
    ++steps;
  }
  return steps;
}

__global__ void julia(int* image, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int* row = reinterpret_cast<int*>(reinterpret_cast<char*>(image) + y * pitch);
  row[x] = steps_of(3.0f * x / width - 1.5f, 3.0f * y / height - 1.5f);
}

int main() {
  const int width = 50, height = 30;
  int* image;
  size_t pitch;
  CUDA_CHECK(cudaMallocPitch(&image, &pitch, width * sizeof(int), height));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  CUDA_CHECK(cudaMemset2DAsync(image, pitch, 0xff, width * sizeof(int), height, stream));
  const dim3 block(16, 8);
  julia<<<dim3(4, 3), block, 0, stream>>>(image, pitch, width, height - 6);  // the rest stays
  std::vector<int> actual(width * height), right(width * height, -1);
  CUDA_CHECK(cudaMemcpy2DAsync(actual.data(), width * sizeof(int), image, pitch,
                               width * sizeof(int), height, cudaMemcpyDeviceToHost, stream));
  CUDA_CHECK(cudaStreamSynchronize(stream));
  for (int y = 0; y < height - 6; ++y) {
    for (int x = 0; x < width; ++x) {
      right[y * width + x] = steps_of(3.0f * x / width - 1.5f, 3.0f * y / (height - 6) - 1.5f);
    }
  }
  expect("an image", actual, right, 0);

  cudaPitchedPtr box;
  const cudaExtent extent = make_cudaExtent(24, 4, 3);
  CUDA_CHECK(cudaMalloc3D(&box, extent));
  CUDA_CHECK(cudaMemset3DAsync(box, 7, extent, stream));
  std::vector<unsigned char> bytes(24);
  CUDA_CHECK(cudaMemcpy(bytes.data(), static_cast<char*>(box.ptr) + 11 * box.pitch, 24,
                        cudaMemcpyDeviceToHost));
  expect("a box", bytes, std::vector<unsigned char>(24, 7), 0);
  CUDA_CHECK(cudaStreamDestroy(stream));
}
