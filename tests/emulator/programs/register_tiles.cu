// Products of matrices: coalesced, tiles whose threads keep 4 x 4 results in registers, and two
// buffers that are filled while the other one is read.
#include "check.h"

__global__ void coalesced(int m, int n, int k, float alpha, const float* a, const float* b,
                          float beta, float* c) {
  const unsigned row = blockIdx.y * 8 + threadIdx.x / 32,
                 column = blockIdx.x * 32 + threadIdx.x % 32;
  if (row < m && column < n) {
    float sum = 0.0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
  }
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    in_registers(int m, int n, int k, const float* __restrict__ a, const float* __restrict__ b,
                 float* __restrict__ c) {
  constexpr int threads = BM * BN / (TM * TN);
  __shared__ float as[BK * BM];  // transposed, so that a thread reads neighbours
  __shared__ float bs[BK * BN];
  const int row = threadIdx.x / (BN / TN) * TM, column = threadIdx.x % (BN / TN) * TN;
  a += blockIdx.y * BM * k;
  b += blockIdx.x * BN;
  c += blockIdx.y * BM * n + blockIdx.x * BN;
  float sums[TM * TN] = {0.0f}, of_a[TM], of_b[TN];
  for (int begin = 0; begin < k; begin += BK) {
    for (int i = threadIdx.x; i < BM * BK / 4; i += threads) {
      const int r = i / (BK / 4), q = i % (BK / 4) * 4;
      const float4 v = *reinterpret_cast<const float4*>(&a[r * k + begin + q]);
      as[(q + 0) * BM + r] = v.x;
      as[(q + 1) * BM + r] = v.y;
      as[(q + 2) * BM + r] = v.z;
      as[(q + 3) * BM + r] = v.w;
    }
    for (int i = threadIdx.x; i < BK * BN / 4; i += threads) {
      const int r = i / (BN / 4), q = i % (BN / 4) * 4;
      reinterpret_cast<float4*>(&bs[r * BN + q])[0] =
          reinterpret_cast<const float4*>(&b[(begin + r) * n + q])[0];
    }
    __syncthreads();
    for (int i = 0; i < BK; ++i) {
      for (int y = 0; y < TM; ++y) of_a[y] = as[i * BM + row + y];
      for (int x = 0; x < TN; ++x) of_b[x] = bs[i * BN + column + x];
      for (int y = 0; y < TM; ++y)
        for (int x = 0; x < TN; ++x) sums[y * TN + x] += of_a[y] * of_b[x];
    }
    __syncthreads();
  }
  for (int y = 0; y < TM; ++y)
    for (int x = 0; x < TN; x += 4)
      *reinterpret_cast<float4*>(&c[(row + y) * n + column + x]) = make_float4(
          sums[y * TN + x], sums[y * TN + x + 1], sums[y * TN + x + 2], sums[y * TN + x + 3]);
}

constexpr int T = 16;
__global__ void two_buffers(int n, const float* a, const float* b, float* c) {
  __shared__ float as[2][T][T + 1], bs[2][T][T + 1];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
  int now = 0;
  as[0][y][x] = a[row * n + x];
  bs[0][y][x] = b[y * n + column];
  float sum = 0;
  for (int tile = 0; tile < n / T; ++tile, now ^= 1) {
    __syncthreads();
    if (tile + 1 < n / T) {
      as[now ^ 1][y][x] = a[row * n + (tile + 1) * T + x];
      bs[now ^ 1][y][x] = b[((tile + 1) * T + y) * n + column];
    }
    for (int i = 0; i < T; ++i) sum = fmaf(as[now][y][i], bs[now][i][x], sum);
  }
  c[row * n + column] = sum;
}

std::vector<double> product(const float* a, const float* b, int m, int n, int k) {
  std::vector<double> c(m * n);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) c[i * n + j] += double(a[i * k + l]) * b[l * n + j];
  return c;
}

int main() {
  const int m = 64, n = 128, k = 48;
  const auto a = numbers(m * k), b = numbers(k * n, 2);
  auto right = product(a.data(), b.data(), m, n, k);
  const float *d_a = on_device(a), *d_b = on_device(b);
  float* d_c = on_device(std::vector<float>(m * n, 1));
  in_registers<32, 64, 8, 4, 4><<<dim3(n / 64, m / 32), 128>>>(m, n, k, d_a, d_b, d_c);
  expect("in registers", on_host(d_c, m * n), right);
  for (double& each : right) each = each * 0.5 + each * 2;
  coalesced<<<dim3((n + 31) / 32, (m + 7) / 8), 256>>>(m, n, k, 0.5f, d_a, d_b, 2.0f, d_c);
  expect("coalesced", on_host(d_c, m * n), right);
  const int size = 48;
  two_buffers<<<dim3(size / T, size / T), dim3(T, T)>>>(size, d_a, d_b, d_c);
  expect("two buffers", on_host(d_c, size * size), product(a.data(), b.data(), size, size, size));
}
