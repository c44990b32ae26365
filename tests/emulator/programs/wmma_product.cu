// Products on tensor cores by <mma.h>: a warp per 16 x 16 tile from global memory, tiles staged in
// shared memory with padding, bfloat16 with a transposed factor, and a half accumulator.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include "check.h"

using namespace nvcuda;

__global__ void tiles(const half* a, const half* b, const float* c, float* d, int m, int n, int k,
                      float alpha, float beta) {
  const int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, added;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + i * n + column, n);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::load_matrix_sync(added, c + row * n + column, n, wmma::mem_row_major);
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = alpha * sum.x[i] + beta * added.x[i];
  wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

// 4 warps make a tile of 32 x 32. b is stored by columns.
__global__ void staged(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d, int n, int k) {
  constexpr int pad = 8, width = 32 + pad;
  __shared__ __align__(32) __nv_bfloat16 ta[32][width], tb[32][width];
  const int warp = threadIdx.x / 32, row = 16 * (warp / 2), column = 16 * (warp % 2);
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.f);
  for (int begin = 0; begin < k; begin += 32) {
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
      ta[i / 32][i % 32] = a[(32 * blockIdx.y + i / 32) * k + begin + i % 32];
      tb[i / 32][i % 32] = b[(32 * blockIdx.x + i / 32) * k + begin + i % 32];
    }
    __syncthreads();
    for (int i = 0; i < 32; i += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
      wmma::load_matrix_sync(fa, &ta[row][i], width);
      wmma::load_matrix_sync(fb, &tb[column][i], width);
      wmma::mma_sync(sum, fa, fb, sum);
    }
    __syncthreads();
  }
  wmma::store_matrix_sync(d + (32 * blockIdx.y + row) * n + 32 * blockIdx.x + column, sum, n,
                          wmma::mem_row_major);
}

__global__ void in_half(const half* a, const half* b, half* d) {
  wmma::fragment<wmma::matrix_a, 8, 32, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 8, 32, 16, half> sum;
  wmma::fill_fragment(sum, __float2half(0.0f));
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 32);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_col_major);
}

template <class T>
std::vector<T> rounded(const std::vector<float>& x) {
  std::vector<T> y;
  for (const float each : x) y.push_back(T(each));
  return y;
}

int main() {
  const int m = 64, n = 96, k = 64;
  const auto a = numbers(m * k), b = numbers(k * n, 2), c = numbers(m * n, 3);
  const auto ha = rounded<half>(a), hb = rounded<half>(b);
  const auto ba = rounded<__nv_bfloat16>(a), bb = rounded<__nv_bfloat16>(b);
  std::vector<double> right(m * n), of_columns(m * n), small(8 * 32);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        right[i * n + j] += 2.0 * float(ha[i * k + l]) * float(hb[l * n + j]);
        of_columns[i * n + j] += double(float(ba[i * k + l])) * float(bb[j * k + l]);
      }
      right[i * n + j] += 0.5 * c[i * n + j];
    }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 32; ++j)
      for (int l = 0; l < 16; ++l)
        small[j * 8 + i] += double(float(ha[i * 16 + l])) * float(hb[l * 32 + j]);
  float* d = on_device(std::vector<float>(m * n));
  half* h = on_device(std::vector<half>(8 * 32));
  tiles<<<dim3(n / 16, m / 16), 32>>>(on_device(ha), on_device(hb), on_device(c), d, m, n, k, 2.f,
                                      0.5f);
  expect("tiles", on_host(d, m * n), right);
  staged<<<dim3(n / 32, m / 32), 128>>>(on_device(ba), on_device(bb), d, n, k);
  expect("staged", on_host(d, m * n), of_columns);
  in_half<<<1, 32>>>(on_device(ha), on_device(hb), h);
  expect("in half", on_host(h, 8 * 32), small, 5e-3);
}
