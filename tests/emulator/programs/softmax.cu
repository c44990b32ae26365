// Softmax over rows: three passes by a block, online by a warp.
#include "check.h"
#include <cfloat>

namespace kernels {

template <typename T, T (*join)(T, T)>
__device__ T block_reduce(T value, T* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + s]);
    __syncthreads();
  }
  const T result = shared[0];
  __syncthreads();
  return result;
}

__device__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ float sum_of(float a, float b) { return a + b; }

__global__ void by_block(const float* x, float* y, int cols) {
  extern __shared__ float shared[];
  const float* row = x + blockIdx.x * cols;
  float most = -FLT_MAX;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) most = max(most, row[i]);
  most = block_reduce<float, larger>(most, shared);
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += __expf(row[i] - most);
  sum = block_reduce<float, sum_of>(sum, shared);
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    y[blockIdx.x * cols + i] = __fdividef(__expf(row[i] - most), sum);
}

struct __align__(8) MD {
  float m, d;
};
__device__ __forceinline__ MD join(MD a, MD b) {
  const bool first = a.m > b.m;
  const MD big = first ? a : b, small = first ? b : a;
  return {big.m, big.d + small.d * __expf(small.m - big.m)};
}

__global__ void online(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  MD md{-INFINITY, 0.f};
  for (int i = threadIdx.x; i < cols; i += 32) md = join(md, MD{x[row * cols + i], 1.f});
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    MD other;
    other.m = __shfl_xor_sync(0xffffffff, md.m, d);
    other.d = __shfl_xor_sync(0xffffffff, md.d, d);
    md = join(md, other);
  }
  for (int i = threadIdx.x; i < cols; i += 32)
    __stcs(&y[row * cols + i], expf(x[row * cols + i] - md.m) / md.d);
}

}  // namespace kernels

int main() {
  const int rows = 7, cols = 100;
  const auto x = numbers(rows * cols);
  std::vector<double> right(x.size());
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < cols; ++i) sum += right[r * cols + i] = std::exp(double(x[r * cols + i]));
    for (int i = 0; i < cols; ++i) right[r * cols + i] /= sum;
  }
  float *d_x = on_device(x), *d_y = on_device(std::vector<float>(x.size()));
  kernels::by_block<<<rows, 64, 64 * sizeof(float)>>>(d_x, d_y, cols);
  expect("by_block", on_host(d_y, x.size()), right);
  using namespace kernels;
  online<<<(rows + 3) / 4, dim3{32, 4}>>>(d_x, d_y, rows, cols);
  expect("online", on_host(d_y, x.size()), right);
}
