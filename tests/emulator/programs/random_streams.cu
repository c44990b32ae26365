// Streams of random numbers: those of a seed repeat, an offset is so many draws, arrays by the
// host.
#include "check.h"

#include <curand.h>
#include <curand_kernel.h>

template <class State>
__global__ void skipped(unsigned* y) {
  State drawn, jumped;
  curand_init(99, threadIdx.x, 0, &drawn);
  curand_init(99, threadIdx.x, 1001, &jumped);
  for (int i = 0; i < 1001; ++i) curand(&drawn);
  y[2 * threadIdx.x] = curand(&drawn) == curand(&jumped);
  skipahead(5ull, &drawn);
  for (int i = 0; i < 5; ++i) curand(&jumped);
  y[2 * threadIdx.x + 1] = curand(&drawn) == curand(&jumped);
}

__global__ void dropout(float* x, int n, float p, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, 0, &state);
  const float4 random = curand_uniform4(&state);
  x[4 * i] *= random.x > p;
  x[4 * i + 1] *= random.y > p;
  x[4 * i + 2] *= random.z > p;
  x[4 * i + 3] *= random.w > p;
}

#define CURAND_CHECK(call) \
  if ((call) != CURAND_STATUS_SUCCESS) return 5

int main() {
  unsigned* y = on_device(std::vector<unsigned>(8));
  skipped<curandStateXORWOW_t><<<1, 4>>>(y);
  expect("XORWOW", on_host(y, 8), std::vector<unsigned>(8, 1), 0);
  skipped<curandStatePhilox4_32_10_t><<<1, 4>>>(y);
  expect("Philox", on_host(y, 8), std::vector<unsigned>(8, 1), 0);

  const int n = 4096;
  float *once = on_device(std::vector<float>(n, 1)), *again = on_device(std::vector<float>(n, 1));
  dropout<<<n / 1024, 256>>>(once, n, 0.25f, 17);
  dropout<<<n / 256, 64>>>(again, n, 0.25f, 17);
  double kept = 0;
  for (const float each : on_host(once, n)) kept += each / n;
  expect("the same again", on_host(once, n), on_host(again, n), 0);
  expect("kept", std::vector<double>{kept}, std::vector<double>{0.75}, 0.02);

  curandGenerator_t generator;
  CURAND_CHECK(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
  CURAND_CHECK(curandSetPseudoRandomGeneratorSeed(generator, 3));
  CURAND_CHECK(curandGenerateLogNormal(generator, once, n, 0, 0.5f));
  double logarithms = 0;
  for (const float each : on_host(once, n)) logarithms += std::log(each) / n;
  expect("log-normal", std::vector<double>{logarithms}, std::vector<double>{0}, 0.03);
  if (curandGenerateNormal(generator, once, 3, 0, 1) != CURAND_STATUS_LENGTH_NOT_MULTIPLE) return 6;
  CURAND_CHECK(curandDestroyGenerator(generator));
}
