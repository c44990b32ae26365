// math_constants.h in use: sines by a reduction of arguments with pi/2 in two parts, infinities.
#include <math_constants.h>

#include "check.h"

__global__ void reduced_sines(double* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const double x = 100.0 * i;
  // x without multiples of pi/2.
  const double whole = rint(x * CUDART_2_OVER_PI);
  double rest = fma(-whole, CUDART_PIO2_HI, x);
  rest = fma(-whole, CUDART_PIO2_LO, rest);
  const int quarter = static_cast<int>(whole) & 3;
  const double value = quarter & 1 ? cos(rest) : sin(rest);
  y[i] = quarter & 2 ? -value : value;
}

__global__ void smallest(const float* x, float* y, int n) {
  float least = CUDART_INF_F, most = -CUDART_INF_F;
  for (int i = 0; i < n; ++i) {
    least = fminf(least, x[i]);
    most = fmaxf(most, x[i]);
  }
  float sine, cosine;
  sincos(CUDART_PI_F, &sine, &cosine);
  y[0] = least;
  y[1] = most;
  y[2] = cosine;
  y[3] = static_cast<float>(fdivide(CUDART_LN2, CUDART_LN2_HI + CUDART_LN2_LO));
  y[4] = isnan(CUDART_NAN_F) + 2 * (CUDART_TWO_TO_126_F * CUDART_TWO_TO_M126_F == 1);
}

int main() {
  const int n = 32;
  double* y = on_device(std::vector<double>(n));
  reduced_sines<<<1, 64>>>(y, n);
  std::vector<double> right(n);
  for (int i = 0; i < n; ++i) right[i] = std::sin(100.0 * i);
  expect("sines", on_host(y, n), right, 1e-14);

  const auto x = numbers(100);
  float least = 2, most = -2;
  for (const float each : x) least = std::fmin(least, each), most = std::fmax(most, each);
  float* z = on_device(std::vector<float>(5));
  smallest<<<1, 1>>>(on_device(x), z, 100);
  expect("limits", on_host(z, 5), std::vector<float>{least, most, -1, 1, 3}, 1e-7);
}
