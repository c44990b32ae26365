// Half and bfloat16: conversions in all roundings, comparisons of pairs, clamped sums, bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

__global__ void halves(float* y, float third, float big) {
  y[0] = __half2float(__float2half_rd(third));
  y[1] = __half2float(__float2half_ru(third));
  y[2] = __half2float(__float2half_rz(-third));
  y[3] = __half2float(__float2half_rz(big));
  y[4] = __half2int_rd(__float2half(-2.5f)) + 10 * __half2int_ru(__float2half(2.1f));
  y[5] = __half2char_rz(__float2half(300.0f)) + __half2uchar_rz(__float2half(-3.0f));
  y[6] = __half2short_rn(__float2half(40000.0f));
  y[7] = __half2float(__int2half_rd(2049)) + __half2float(__int2half_ru(2049));
  y[8] = __half2float(__hadd_sat(__float2half(0.75f), __float2half(0.75f)));
  y[9] = __half2float(__hfma_relu(__float2half(-2.0f), __float2half(3.0f), __float2half(1.0f)));
  y[10] = __half2float(hrint(__float2half(2.5f))) + __half2float(htrunc(__float2half(-2.7f)));
  y[11] = __half2float(__hmax(__float2half(nanf("")), __float2half(1.0f)));
  y[12] = __hisnan(__hmax_nan(__float2half(nanf("")), __float2half(1.0f)));
  y[13] = __half_raw(__float2half(1.0f)).x + __half_as_short(__float2half(-2.0f));
}

__global__ void pairs(float* y) {
  const __half2 a = __floats2half2_rn(1, 2), b = __floats2half2_rn(1, 3);
  y[0] = __heq2_mask(a, b) == 0xffffu;
  y[1] = __low2float(__hlt2(a, b)) + 10 * __high2float(__hlt2(a, b));
  y[2] = __hble2(a, b) + 2 * __hbeq2(a, b);
  const __half2 product = __hcmadd(a, b, __floats2half2_rn(10, 20));  // (1 + 2i)(1 + 3i)
  y[3] = __low2float(product);
  y[4] = __high2float(product);
  y[5] = __high2float(__lowhigh2highlow(a)) + __low2float(__highs2half2(a, b));
  y[6] = __high2float(h2exp2(b));
  y[7] = __hequ(__float2half(nanf("")), __float2half(0.0f));
}

__global__ void bfloats(float* y, float third) {
  y[0] = __bfloat162float(__float2bfloat16_rd(third));
  y[1] = __bfloat162float(__float2bfloat16_ru(third));
  y[2] = __bfloat162float(__ll2bfloat16_rz((1ll << 40) - 1));
  y[3] = __bfloat162uint_rz(__float2bfloat16(-7.0f)) + __bfloat162ll_rn(__float2bfloat16(1e10f));
  y[4] = __bfloat162float(CUDART_MAX_NORMAL_BF16);
}

int main() {
  float* y = on_device(std::vector<float>(16));
  halves<<<1, 1>>>(y, 1.0f / 3, 1e6f);
  expect("half", on_host(y, 14),
         std::vector<float>{1365.0f / 4096, 1366.0f / 4096, -1365.0f / 4096, 65504, -3 + 30, 127,
                            32767, 2048 + 2050, 1, 0, 0, 1, 1, 0x3c00 - 0x4000},
         1e-9);
  pairs<<<1, 1>>>(y);
  expect("pairs", on_host(y, 8), std::vector<float>{1, 10, 1, 5, 25, 1 + 2, 8, 1}, 0);
  bfloats<<<1, 1>>>(y, 1.0f / 3);
  expect("bfloat16", on_host(y, 5),
         std::vector<float>{170.0f / 512, 171.0f / 512, 1095216660480.0f, 9999220736.0f,
                            3.38953139e38f},
         0);
}
