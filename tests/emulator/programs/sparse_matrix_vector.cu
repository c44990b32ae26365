// Sparse matrix times vector: CSR with a thread and with a warp per row, ELLPACK by columns, and
// COO with atomics.
#include "check.h"

struct Csr {
  int rows;
  const int* begin;
  const int* column;
  const float* value;
};

__global__ void thread_per_row(Csr a, const float* x, float* y) {
  const int row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row < a.rows) {
    float dot = 0;
    for (int i = a.begin[row]; i < a.begin[row + 1]; i++) dot += a.value[i] * x[a.column[i]];
    y[row] = dot;
  }
}

__global__ void warp_per_row(const Csr a, const float* x, float* y) {
  __shared__ volatile float values[4][32];
  const int lane = threadIdx.x & (32 - 1), warp = threadIdx.x >> 5;
  const int row = blockIdx.x * (blockDim.x >> 5) + warp;
  if (row >= a.rows) return;
  float sum = 0;
  for (int i = a.begin[row] + lane; i < a.begin[row + 1]; i += 32)
    sum += a.value[i] * x[a.column[i]];
  values[warp][lane] = sum;
  __syncwarp();
  for (int half = 16; half > 0; half >>= 1) {
    if (lane < half) values[warp][lane] = values[warp][lane] + values[warp][lane + half];
    __syncwarp();
  }
  if (lane == 0) y[row] = values[warp][0];
}

__global__ void ellpack(int rows, int width, const int* column, const float* value, const float* x,
                        float* y) {
  const int row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) {
    const int c = column[k * rows + row];
    if (c >= 0) sum += value[k * rows + row] * x[c];
  }
  y[row] = sum;
}

__global__ void coordinates(int count, const int2* at, const float* value, const float* x,
                            float* y) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < count) atomicAdd(y + at[i].x, value[i] * x[at[i].y]);
}

int main() {
  const int rows = 70, columns = 90, width = 60;
  const auto random = numbers(rows * columns, 5), x = numbers(columns);
  std::vector<int> begin{0}, column, ell_column(rows * width, -1);
  std::vector<float> value, ell_value(rows * width);
  std::vector<int2> at;
  std::vector<double> right(rows);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns && r % 9 != 0; ++c) {
      const float v = random[r * columns + c];
      if (v < 0.95f - 0.02f * r) continue;
      const int k = int(column.size()) - begin[r];
      if (k == width) break;
      ell_column[k * rows + r] = c;
      ell_value[k * rows + r] = v;
      column.push_back(c);
      value.push_back(v);
      at.push_back({r, c});
      right[r] += double(v) * x[c];
    }
    begin.push_back(int(column.size()));
  }
  const Csr a{rows, on_device(begin), on_device(column), on_device(value)};
  const float* d_x = on_device(x);
  float* d_y = on_device(std::vector<float>(rows, -1));
  thread_per_row<<<2, 64>>>(a, d_x, d_y);
  expect("thread per row", on_host(d_y, rows), right);
  CUDA_CHECK(cudaMemset(d_y, 0xff, rows * sizeof(float)));
  warp_per_row<<<(rows + 3) / 4, 128>>>(a, d_x, d_y);
  expect("warp per row", on_host(d_y, rows), right);
  ellpack<<<3, 32>>>(rows, width, on_device(ell_column), on_device(ell_value), d_x, d_y);
  expect("ellpack", on_host(d_y, rows), right);
  CUDA_CHECK(cudaMemset(d_y, 0, rows * sizeof(float)));
  const int count = int(at.size());
  coordinates<<<(count + 127) / 128, 128>>>(count, on_device(at), a.value, d_x, d_y);
  expect("coordinates", on_host(d_y, rows), right);
}
