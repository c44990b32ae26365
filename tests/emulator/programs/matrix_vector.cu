// Matrix times vector: a thread per row, a warp per row in 16-byte loads, and the transposed matrix
// with a block per strip of columns.
#include "check.h"

__global__ void thread_per_row(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < columns; k++) sum += a[row * columns + k] * x[k];
  y[row] = sum;
}

__global__ void warp_per_row(const float4* __restrict__ a, const float4* __restrict__ x,
                             float* __restrict__ y, int rows, int quads) {
  const int warp = threadIdx.y, lane = threadIdx.x;
  const int row = blockIdx.x * blockDim.y + warp;
  if (row >= rows) return;  // by whole warps
  float sum = 0;
  for (int k = lane; k < quads; k += warpSize) {
    const float4 m = __ldg(a + row * quads + k), v = __ldg(x + k);
    sum = fmaf(m.x, v.x, sum);
    sum = fmaf(m.y, v.y, sum);
    sum = fmaf(m.z, v.z, sum);
    sum = fmaf(m.w, v.w, sum);
  }
#pragma unroll
  for (int offset = warpSize >> 1; offset; offset >>= 1)
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (lane == 0) y[row] = sum;
}

// y = a^T x: neighbouring threads have neighbouring columns; the rows are split over threadIdx.y.
template <int STRIP, int PARTS>
__global__ void transposed(const float* a, const float* x, float* y, int rows, int columns) {
  __shared__ float partial[PARTS][STRIP];
  const int column = blockIdx.x * STRIP + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (int r = threadIdx.y; r < rows; r += PARTS) sum += a[r * columns + column] * x[r];
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (int p = 1; p < PARTS; ++p) sum += partial[p][threadIdx.x];
    y[column] = sum;
  }
}

int main() {
  constexpr int rows = 75, columns = 212;
  const auto a = numbers(rows * columns), x = numbers(columns, 7), z = numbers(rows, 9);
  std::vector<double> right(rows), of_transposed(columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      right[r] += double(a[r * columns + c]) * x[c];
      of_transposed[c] += double(a[r * columns + c]) * z[r];
    }
  const float *d_a = on_device(a), *d_x = on_device(x), *d_z = on_device(z);
  float* d_y = on_device(std::vector<float>(columns));
  const auto blocks = [](int n, int each) { return (n + each - 1) / each; };

  thread_per_row<<<blocks(rows, 32), 32>>>(d_a, d_x, d_y, rows, columns);
  expect("thread per row", on_host(d_y, rows), right);
  CUDA_CHECK(cudaMemset(d_y, 0, sizeof(float) * rows));
  warp_per_row<<<blocks(rows, 4), dim3{32, 4}>>>(reinterpret_cast<const float4*>(d_a),
                                                 (const float4*)d_x, d_y, rows, columns / 4);
  expect("warp per row", on_host(d_y, rows), right);
  transposed<32, 8><<<blocks(columns, 32), dim3(32, 8)>>>(d_a, d_z, d_y, rows, columns);
  expect("transposed", on_host(d_y, columns), of_transposed);
}
