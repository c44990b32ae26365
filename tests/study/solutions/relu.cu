#include <prenorm/prenorm.hpp>

#include <cuda_runtime.h>

__global__ void relu_of(const float* x, float* y, long n) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] < 0 ? 0 : x[i];
}

void relu(prenorm::View<const float> x, prenorm::View<float> y, prenorm::Stream stream) {
  const long n = x.size();
  if (n == 0) return;
  relu_of<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream.handle)>>>(x.data(), y.data(),
                                                                                 n);
}

PRENORM_SOLUTION(kDLCUDA)
PRENORM_EXPORT_FUNCTION(relu, relu)
