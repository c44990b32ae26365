// Grid-stride loops, and sums of doubles by atomicAdd: dot product, norm, saxpy by float4. Memory
// is freed by smart pointers.
#include <memory>
#include <type_traits>
#include "check.h"

struct Free {
  template <class T>
  void operator()(T* memory) const {
    CUDA_CHECK(cudaFree(const_cast<std::remove_const_t<T>*>(memory)));
  }
};
template <class T>
using Owned = std::unique_ptr<T[], Free>;

__device__ __noinline__ float multiply_add(float a, float x, float y) { return a * x + y; }

__global__ void saxpy(int n, float a, const float4* __restrict__ x, float4* __restrict__ y) {
  const int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
    const float4 u = x[i];
    float4 v = y[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    y[i] = v;
  }
  // What is left over after the last four.
  if (blockIdx.x == 0 && threadIdx.x < n % 4) {
    const int i = n / 4 * 4 + threadIdx.x;
    float* each = reinterpret_cast<float*>(y) + i;
    *each = multiply_add(a, reinterpret_cast<const float*>(x)[i], *each);
  }
}

template <typename T, typename Sum>
__global__ void dot(size_t n, const T* x, const T* y, Sum* result) {
  Sum sum = 0;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x)
    sum += static_cast<Sum>(x[i]) * y[i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(result, sum);
}

__global__ void divide(size_t n, double* x, const double* square_of_norm) {
  const double factor = rsqrt(*square_of_norm);
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] *= factor;
}

int main() {
  const int n = 4099;
  const float a = -1.5f;
  const auto x = numbers(n), y = numbers(n, 8);
  const std::vector<double> wide(x.begin(), x.end());
  double product = 0, square = 0;
  std::vector<double> axpy(n), unit(n);
  for (int i = 0; i < n; ++i) {
    product += double(x[i]) * y[i];
    square += wide[i] * wide[i];
    axpy[i] = double(a) * x[i] + y[i];
  }
  for (int i = 0; i < n; ++i) unit[i] = wide[i] / std::sqrt(square);

  const Owned<const float> owned_x(on_device(x));
  const std::shared_ptr<float> owned_y(on_device(y), Free());
  const float* d_x = owned_x.get();
  float* d_y = owned_y.get();
  double *d_wide = on_device(wide), *result = on_device(std::vector<double>(3));
  dot<<<4, 256>>>(n, d_x, d_y, result);
  dot<double, double><<<3, 128>>>(n, d_wide, d_wide, result + 1);
  expect("dot products", on_host(result, 2), std::vector<double>{product, square}, 1e-12);
  divide<<<2, 64>>>(n, d_wide, result + 1);
  expect("unit vector", on_host(d_wide, n), unit, 1e-14);
  saxpy<<<2, 256>>>(n, a, reinterpret_cast<const float4*>(d_x), reinterpret_cast<float4*>(d_y));
  expect("saxpy", on_host(d_y, n), axpy);
}
