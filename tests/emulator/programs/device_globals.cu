// Variables of the device: globals, arrays, constants, structs of parameters, functions by
// pointers, and what the host does with their symbols.
#include "check.h"

struct Parameters {
  int n;
  float scale;
  float3 offset;
};
__constant__ Parameters parameters;
__constant__ float coefficients[5] = {1.f, -0.5f, 0.25f, -0.125f, 0.0625f};
__device__ int counter = 3;
__device__ float matrix[4][4];
__device__ float* indirect;
static __device__ unsigned visits[8];
namespace physics {
__device__ constexpr double gravity = 9.81;
__device__ const int levels = 4;
}  // namespace physics

__device__ float horner(float x) {
  float sum = 0;
#pragma unroll
  for (int i = 4; i >= 0; i--) sum = sum * x + coefficients[i];
  return sum;
}
__device__ float fall(float t) { return float(0.5 * physics::gravity * t * t); }

typedef float (*Function)(float);
__device__ Function functions[] = {horner, fall};
__device__ Function chosen = fall;

__global__ void evaluate(const float* x, float* y, int which) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= parameters.n) return;
  const Function f = which < 0 ? chosen : functions[which];
  y[i] = parameters.scale * f(x[i]) + parameters.offset.y;
  atomicAdd(&counter, 1);
  atomicInc(&visits[i % 8], 1000);
}

__global__ void fill() {
  matrix[threadIdx.y][threadIdx.x] = threadIdx.y * 10.f + threadIdx.x;
  if (threadIdx.x == 0) indirect[threadIdx.y] = physics::levels + threadIdx.y;
}

__global__ void sum_row(int row, float* out) {
  float sum = 0;
  for (const float each : matrix[row]) sum += each;
  *out = sum;
}

int main() {
  const int n = 100;
  const auto x = numbers(n);
  const Parameters host{n, 2.0f, {0, 0.5f, 0}};
  CUDA_CHECK(cudaMemcpyToSymbol(parameters, &host, sizeof(Parameters)));
  std::vector<double> polynomial, fallen;
  for (const double each : x) {
    polynomial.push_back(2 * (1 + each * (-0.5 + each * (0.25 + each * (-0.125 + each * 0.0625)))) +
                         0.5);
    fallen.push_back(2 * 0.5 * 9.81 * each * each + 0.5);
  }
  float *d_x = on_device(x), *d_y = on_device(std::vector<float>(n));
  evaluate<<<4, 32>>>(d_x, d_y, 0);
  expect("polynomial", on_host(d_y, n), polynomial);
  evaluate<<<4, 32>>>(d_x, d_y, -1);
  expect("fall", on_host(d_y, n), fallen);

  int count = 0;
  CUDA_CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  expect("counter", std::vector<int>{count}, std::vector<int>{3 + 2 * n});
  std::vector<unsigned> visited(8), right(8, 24);
  for (int i = 0; i < 4; ++i) right[i] = 26;
  CUDA_CHECK(cudaMemcpyFromSymbol(visited.data(), visits, sizeof(unsigned) * 8, 0,
                                  cudaMemcpyDeviceToHost));
  expect("visits", visited, right);

  float* levels = on_device(std::vector<float>(4));
  CUDA_CHECK(cudaMemcpyToSymbol(indirect, &levels, sizeof levels));
  fill<<<1, dim3(4, 4)>>>();
  expect("levels", on_host(levels, 4), std::vector<float>{4, 5, 6, 7});
  const float last[] = {100, 200, 300, 400};
  CUDA_CHECK(cudaMemcpyToSymbol(matrix, last, sizeof last, 12 * sizeof(float)));
  sum_row<<<1, 1>>>(3, levels);
  sum_row<<<1, 1>>>(1, levels + 1);
  expect("rows", on_host(levels, 2), std::vector<float>{1000, 46});
  void* address;
  size_t bytes;
  CUDA_CHECK(cudaGetSymbolAddress(&address, matrix));
  CUDA_CHECK(cudaGetSymbolSize(&bytes, matrix));
  if (bytes != 64) return 5;
  CUDA_CHECK(cudaMemset(address, 0, bytes));
  sum_row<<<1, 1>>>(3, levels);
  expect("cleared", on_host(levels, 1), std::vector<float>{0});
}
