// Sparse matrices times vectors: rows by threads, rows by warps, pairs with atomics, padded rows
// column by column; and conjugate gradients on them, whose scalars stay on the device.
#include <tuple>
#include "check.h"

template <class Value>
struct Csr {
  int rows;
  const int *starts, *columns;
  const Value* values;
};

template <class V>
__global__ void csr_scalar(Csr<V> a, const V* x, V* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return;
  V sum = 0;
  for (int i = a.starts[row]; i < a.starts[row + 1]; i++) sum += a.values[i] * x[a.columns[i]];
  y[row] = sum;
}

template <class V>
__device__ V warp_sum(V value) {
  for (int offset = warpSize >> 1; offset; offset >>= 1)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

template <class V>
__global__ void csr_vector(const Csr<V> a, const V* __restrict__ x, V* __restrict__ y) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (warp >= a.rows) return;
  V sum = 0;
  for (int i = a.starts[warp] + lane; i < a.starts[warp + 1]; i += 32)
    sum += a.values[i] * __ldg(x + a.columns[i]);
  sum = warp_sum(sum);
  if (!lane) y[warp] = sum;
}

__global__ void coo(int entries, const int3* at, const float* values, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += gridDim.x * blockDim.x) {
    const int3 place = at[i];
    if (place.z) atomicAdd(y + place.x, values[i] * x[place.y]);
  }
}

__global__ void dot(const double* a, const double* b, double* result, int n) {
  double own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += a[i] * b[i];
  own = warp_sum(own);
  if (threadIdx.x % 32 == 0) atomicAdd(result, own);
}
/// y += sign * numerator / denominator * x, or y = x + that * y.
__global__ void update(double* y, const double* x, const double* numerator,
                       const double* denominator, double sign, bool keep, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double factor = sign * *numerator / *denominator;
  y[i] = keep ? y[i] + factor * x[i] : x[i] + factor * y[i];
}

template <class V>
auto poisson(int side) {
  std::vector<int> starts{0}, columns;
  std::vector<V> values;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const std::tuple<int, int, V> all[]{
          {0, -1, -1}, {-1, 0, -1}, {0, 0, 4}, {1, 0, -1}, {0, 1, -1}};
      for (const auto& [dx, dy, value] : all) {
        if (x + dx < 0 || x + dx >= side || y + dy < 0 || y + dy >= side) continue;
        columns.push_back((y + dy) * side + x + dx);
        values.push_back(value);
      }
      starts.push_back(int(columns.size()));
    }
  return std::make_tuple(starts, columns, values);
}

int main() {
  const int side = 12, n = side * side;
  const auto [starts, columns, values] = poisson<float>(side);
  const auto x = numbers(n);
  std::vector<float> right(n);
  std::vector<int3> places;
  for (int row = 0; row < n; ++row)
    for (int i = starts[row]; i < starts[row + 1]; ++i) {
      right[row] += values[i] * x[columns[i]];
      places.push_back({row, columns[i], 1});
    }
  Csr<float> a{n, on_device(starts), on_device(columns), on_device(values)};
  float *d_x = on_device(x), *y = on_device(std::vector<float>(n));
  csr_scalar<<<(n + 63) / 64, 64>>>(a, d_x, y);
  expect("rows by threads", on_host(y, n), right);
  CUDA_CHECK(cudaMemset(y, 0, n * sizeof *y));
  csr_vector<float><<<n / 4, 128>>>(a, d_x, y);
  expect("rows by warps", on_host(y, n), right);
  CUDA_CHECK(cudaMemset(y, 0, n * sizeof *y));
  coo<<<2, 64>>>(int(places.size()), on_device(places), a.values, d_x, y);
  expect("pairs", on_host(y, n), right);

  const auto [s, c, v] = poisson<double>(side);
  const Csr<double> b{n, on_device(s), on_device(c), on_device(v)};
  const std::vector<double> ones(n, 1.0);
  double *solution = on_device(std::vector<double>(n)), *r = on_device(ones), *p = on_device(ones),
         *q = on_device(ones), *scalars = on_device(std::vector<double>(3));
  dot<<<2, 64>>>(r, r, scalars, n);
  for (int step = 0; step < 20; ++step) {
    csr_vector<<<n / 4, 128>>>(b, p, q);
    CUDA_CHECK(cudaMemsetAsync(scalars + 1, 0, 2 * sizeof(double)));
    dot<<<2, 64>>>(p, q, scalars + 1, n);
    update<<<3, 64>>>(solution, p, scalars, scalars + 1, 1, true, n);
    update<<<3, 64>>>(r, q, scalars, scalars + 1, -1, true, n);
    dot<<<2, 64>>>(r, r, scalars + 2, n);
    update<<<3, 64>>>(p, r, scalars + 2, scalars, 1, false, n);
    CUDA_CHECK(cudaMemcpyAsync(scalars, scalars + 2, sizeof(double), cudaMemcpyDeviceToDevice));
    if (on_host(scalars, 1)[0] < 1e-20) break;
  }
  csr_scalar<<<3, 64>>>(b, solution, q);
  expect("conjugate gradients", on_host(q, n), ones, 1e-8);
}
