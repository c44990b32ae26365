// Softmax along any axis: x is [outer, n, inner], and neighbouring threads take neighbouring
// slices.
#include <prenorm/prenorm.hpp>

#include <cfloat>

#include <cuda_runtime.h>

__global__ void softmax_of_slices(const float* x, float* y, long slices, long n, long inner) {
  const long slice = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (slice >= slices) return;
  const long first = slice / inner * n * inner + slice % inner, end = first + n * inner;
  float largest = -FLT_MAX, sum = 0;
  for (long i = first; i < end; i += inner) largest = fmaxf(largest, x[i]);
  for (long i = first; i < end; i += inner) sum += expf(x[i] - largest);
  for (long i = first; i < end; i += inner) y[i] = expf(x[i] - largest) / sum;
}

void softmax(prenorm::View<const float> x, std::int64_t dim, prenorm::View<float> y,
             prenorm::Stream stream) {
  if (x.size() == 0) return;
  const auto axis =
      static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(x.dimension()) : dim);
  long inner = 1;
  for (std::size_t i = axis + 1; i < x.dimension(); ++i) inner *= x.shape(i);
  const long n = x.shape(axis), slices = static_cast<long>(x.size()) / n;
  softmax_of_slices<<<(slices + 31) / 32, 32, 0, static_cast<cudaStream_t>(stream.handle)>>>(
      x.data(), y.data(), slices, n, inner);
}

PRENORM_SOLUTION(kDLCUDA)
PRENORM_EXPORT_FUNCTION(softmax, softmax)
