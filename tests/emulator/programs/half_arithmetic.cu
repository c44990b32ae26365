// 16-bit arithmetic: saxpy in __half2, a sum kept in float, bfloat16 that rounds.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "check.h"

__global__ void saxpy(const half2* x, half2* y, half a, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

__global__ void dot(const __half* x, const __half* y, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += __half2float(x[i]) * __half2float(y[i]);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (threadIdx.x == 0) *out = sum;
}

template <typename T>
__global__ void operators(const float* in, float* out) {
  const T a = in[0], b = in[1];
  out[0] = float(a + b);
  out[1] = float(a * b);
  out[2] = float(-a / b);
  out[3] = a < b;
  T c = a;
  c += b;
  out[4] = float(__hmax(c, __float2half(0.f) == __half(0.f) ? a : b));
}

__global__ void packed(const __nv_bfloat16* x, __nv_bfloat162* y, int pairs) {
  const int i = threadIdx.x;
  if (i >= pairs) return;
  const __nv_bfloat162 v = *reinterpret_cast<const __nv_bfloat162*>(x + 2 * i);
  const float2 f = __bfloat1622float2(v);
  y[i] = __floats2bfloat162_rn(f.x * 2.f, f.y + 1.f);
}

int main() {
  const int n = 100;
  const auto values = numbers(2 * n);
  std::vector<__half> x(n), y(n);
  std::vector<double> right(n);
  double product = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = __float2half(values[i]);
    y[i] = __float2half(values[n + i]);
    product += double(float(x[i])) * float(y[i]);
    right[i] = 0.5 * float(x[i]) + float(y[i]);
  }
  auto *d_x = on_device(x), *d_y = on_device(y);
  float* d_out = on_device(std::vector<float>(5));
  dot<<<1, 32>>>(d_x, d_y, d_out, n);
  expect("dot", on_host(d_out, 1), std::vector<double>{product});
  saxpy<<<1, 64>>>((half2*)d_x, reinterpret_cast<half2*>(d_y), __float2half(0.5f), n / 2);
  expect("saxpy", on_host(d_y, n), right, 6e-4);

  const float in[] = {1.0009765625f, 2048.f};
  float* d_in = on_device(std::vector<float>(in, in + 2));
  operators<__half><<<1, 1>>>(d_in, d_out);
  // 2049 lies between 2048 and 2050, and rounds to the even one.
  expect("half", on_host(d_out, 5), std::vector<float>{2050, 2050, -4.8875809e-4f, 1, 2050}, 0);
  std::vector<__nv_bfloat16> b(n);
  std::vector<float> twice(n);
  for (int i = 0; i < n; ++i) {
    b[i] = __float2bfloat16(values[i]);
    twice[i] = float(i % 2 == 0 ? b[i] * __nv_bfloat16(2) : b[i] + __nv_bfloat16(1));
  }
  auto* d_b = on_device(b);
  auto* d_c = on_device(std::vector<__nv_bfloat16>(n));
  packed<<<1, 64>>>(d_b, reinterpret_cast<__nv_bfloat162*>(d_c), n / 2);
  expect("packed", on_host(d_c, n), twice, 0);
}
