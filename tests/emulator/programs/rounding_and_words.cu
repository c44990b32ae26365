// Arithmetic that rounds in a direction, conversions that saturate, and words of several numbers.
#include "check.h"

#include <climits>
#include <string>

__global__ void directions(float* y, double* z, float third, double tenth) {
  y[0] = __fadd_rd(1.0f, 1e-9f * third);
  y[1] = __fadd_ru(1.0f, 1e-9f * third);
  y[2] = __fmul_rz(third, third) - __fmul_ru(third, third);
  y[3] = __fdiv_rd(1.0f, 3.0f) - __fdiv_ru(1.0f, 3.0f);
  y[4] = __fsqrt_ru(2.0f) - __fsqrt_rd(2.0f);
  y[5] = __fmaf_ru(third, 3.0f, -1.0f) - __fmaf_rd(third, 3.0f, -1.0f);
  y[6] = __frcp_rz(3.0f);
  y[7] = __double2float_ru(tenth) - __double2float_rd(tenth);
  y[8] = __int2float_rz(INT_MAX);
  y[9] = __ll2float_ru((1ll << 40) + 1) - static_cast<float>(1ll << 40);
  z[0] = __ddiv_ru(1, 3) - __ddiv_rd(1, 3);
  z[1] = __dadd_rz(1, 1e-30);
  z[2] = __hiloint2double(__double2hiint(tenth), __double2loint(tenth));
  z[3] = __ull2double_rz(~0ull);
}

__global__ void saturated(long long* y, float big, float nan) {
  y[0] = __float2int_rz(big);
  y[1] = __float2uint_rz(-5.0f);
  y[2] = __float2int_rn(nan);
  y[3] = __float2int_rn(2.5f) + 10 * __float2int_rd(-2.5f) + 100 * __float2int_ru(2.1f);
  y[4] = __double2ll_rn(1e300);
  y[5] = static_cast<long long>(__float2ull_rz(nan) >> 63);
  y[6] = __double2int_rz(-3e10);
}

__global__ void words(unsigned* y) {
  const unsigned a = 0x7f80ff01u, b = 0x01010203u;
  y[0] = __vadd4(a, b);
  y[1] = __vaddss4(a, b);
  y[2] = __vsubus4(b, a);
  y[3] = __vabsdiffu4(a, b);
  y[4] = __vmaxs4(a, b);
  y[5] = __vcmpgtu4(a, b);
  y[6] = __vsetgts2(0x00018000u, 0x00007fffu);
  y[7] = __vsadu4(a, b);
  y[8] = __vavgu2(0x00010004u, 0x00020007u);
  y[9] = static_cast<unsigned>(__vimax3_s32(-3, 4, 2)) + __viaddmin_u32(3, 4, 9);
  y[10] = __byte_perm(0x12345678u, 0x9abcdef0u, 0x4a61u);
  y[11] = __fns(0b101100, 0, 2) * 100 + __fns(0b101100, 31, -1);
  y[12] = static_cast<unsigned>(__mul64hi(1ll << 40, 1ll << 40)) + __usad(3, 5, 10);
  y[13] = static_cast<unsigned>(__dp4a(0x01020304, 0x01ff01ff, 100));
  y[14] = static_cast<unsigned>(__hadd(INT_MAX, INT_MAX - 2)) - (INT_MAX - 1) + __urhadd(1, 2);
  y[15] = __funnelshift_rc(1, 2, 40);
}

__global__ void functions(double* y) {
  y[0] = erfinv(0.5);
  y[1] = erfcinv(1e-10);
  y[2] = normcdfinv(0.975);
  y[3] = erfcx(30.0);
  y[4] = norm3d(1, 2, 2) + norm4d(1, 1, 1, 1);
  y[5] = rhypot(3, 4);
  y[6] = cyl_bessel_i0(1.0);
  y[7] = sinpi(0.5) + cospi(1.0);
  y[8] = exp10(2.0);
  y[9] = rcbrt(8.0);
}

int main() {
  float* y = on_device(std::vector<float>(16));
  double* z = on_device(std::vector<double>(16));
  directions<<<1, 1>>>(y, z, 1.0f / 3, 0.1);
  const float third_ulp = 2.98023224e-8f, two_ulp = 1.1920929e-7f;
  expect("float", on_host(y, 10),
         std::vector<float>{1, 1 + two_ulp, -7.450581e-9f, -third_ulp, two_ulp, 0,
                            1.0f / 3 - third_ulp, 7.450581e-9f, 2147483520.0f, 131072},
         1e-12);
  expect("double", on_host(z, 4),
         std::vector<double>{5.551115123125783e-17, 1, 0.1, 18446744073709549568.0}, 0);

  long long* n = on_device(std::vector<long long>(16));
  saturated<<<1, 1>>>(n, 3e9f, nanf(""));
  expect("conversions", on_host(n, 7),
         std::vector<long long>{INT_MAX, 0, 0, 2 - 30 + 300, LLONG_MAX, 1, INT_MIN}, 0);

  unsigned* w = on_device(std::vector<unsigned>(16));
  words<<<1, 1>>>(w);
  expect("words", on_host(w, 16),
         std::vector<unsigned>{0x80810104u, 0x7f810104u, 0x00000002u, 0x7e7ffd02u, 0x7f010203u,
                               0xffffff00u, 0x00010000u, 0x7e + 0x7f + 0xfd + 2, 0x00020006u, 4 + 7,
                               0xf000bc56u, 305, 1u << 16 | 12, 100 + 1 - 2 + 3 - 4, 2, 2},
         0);

  functions<<<1, 1>>>(z);
  expect("functions", on_host(z, 10),
         std::vector<double>{0.4769362762044699, 4.572824967389486, 1.959963984540054,
                             0.018795888861416751, 5, 0.2, 1.2660658777520084, 0, 100, 0.5},
         1e-13);
}
