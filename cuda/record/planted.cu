// Solutions with a bug each that compute-sanitizer must find, or its silence about others means
// nothing. Their results are right: y = max(x, 0) of up to 1024 elements of float32.
#include <prenorm/prenorm.hpp>

#include <cuda_runtime.h>
#include <stdexcept>

namespace {

/// y = max(x, 0), and a bug; `scratch` has room for one float.
using Kernel = void (*)(const float* x, float* y, int size, float* scratch);

__device__ void relu(const float* x, float* y, int size) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < size) y[i] = x[i] > 0 ? x[i] : 0;
}

/// memcheck: a write beside an allocation.
__global__ void out_of_bounds(const float* x, float* y, int size, float* scratch) {
  relu(x, y, size);
  if (threadIdx.x == 0) scratch[1] = 1;
}

/// racecheck: warps write and read the same shared memory without a barrier.
__global__ void race(const float* x, float* y, int size, float* scratch) {
  __shared__ float shared;
  relu(x, y, size);
  if (threadIdx.x == 0) shared = x[0];
  if (threadIdx.x == 32) *scratch = shared;
}

/// initcheck: reads memory that nothing wrote.
__global__ void unwritten(const float* x, float* y, int size, float* scratch) {
  relu(x, y, size);
  if (threadIdx.x == 0 && *scratch > 0) *scratch = 1;
}

/// synccheck: lanes wait that are not in the mask.
__global__ void diverged(const float* x, float* y, int size, float*) {
  relu(x, y, size);
  __syncwarp(1u);
}

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

template <Kernel kernel>
void launch(prenorm::View<const float> x, prenorm::Stream stream, prenorm::View<float> y) {
  float* scratch = nullptr;
  check(cudaMalloc(&scratch, sizeof(float)));
  kernel<<<1, 1024, 0, static_cast<cudaStream_t>(stream.handle)>>>(
      x.data(), y.data(), static_cast<int>(x.size()), scratch);
  check(cudaGetLastError());
  check(cudaFree(scratch));  // which waits
}

}  // namespace

PRENORM_SOLUTION(kDLCUDA)
PRENORM_EXPORT_FUNCTION(relu__out_of_bounds, launch<out_of_bounds>)
PRENORM_EXPORT_FUNCTION(relu__race, launch<race>)
PRENORM_EXPORT_FUNCTION(relu__unwritten, launch<unwritten>)
PRENORM_EXPORT_FUNCTION(relu__diverged, launch<diverged>)
