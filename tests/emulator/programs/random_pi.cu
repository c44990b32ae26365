// Random numbers: pi by darts with a generator for each thread, walks of Philox, arrays from the
// host.
#include "check.h"

#include <curand.h>
#include <curand_kernel.h>

__global__ void begin(curandState* states, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &states[i]);
}

__global__ void darts(curandState* states, unsigned* hits, int each) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state = states[i];
  unsigned inside = 0;
  for (int k = 0; k < each; ++k) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    inside += x * x + y * y <= 1.0f;
  }
  atomicAdd(hits, inside);
  states[i] = state;
}

__global__ void words(unsigned* y) {
  curandStateXORWOW_t one;
  curand_init(1234, threadIdx.x, 6, &one);
  y[threadIdx.x] = curand(&one);
  curandStatePhilox4_32_10_t other;
  curand_init(1234, threadIdx.x, 6, &other);
  y[32 + threadIdx.x] = curand(&other);
}

__global__ void moments(float* y) {
  curandStatePhilox4_32_10_t state;
  curand_init(7, threadIdx.x, 0, &state);
  float sum = 0, squares = 0;
  for (int k = 0; k < 256; ++k) {
    const float4 x = curand_normal4(&state);
    sum += x.x + x.y + x.z + x.w;
    squares += x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
  }
  atomicAdd(&y[0], sum / (32 * 1024));
  atomicAdd(&y[1], squares / (32 * 1024));
}

#define CURAND_CHECK(call) \
  if ((call) != CURAND_STATUS_SUCCESS) return 5

int main() {
  // Of a device, by the toolkit's own headers: the first threads' words.
  unsigned* of_words = on_device(std::vector<unsigned>(64));
  words<<<1, 32>>>(of_words);
  const auto said = on_host(of_words, 64);
  expect("words", std::vector<unsigned>{said[0], said[1], said[32], said[33]},
         std::vector<unsigned>{865023039u, 1929890176u, 4196888723u, 495137217u}, 0);

  curandState* states;
  CUDA_CHECK(cudaMalloc(&states, 64 * sizeof(curandState)));
  unsigned* hits = on_device(std::vector<unsigned>(1));
  begin<<<2, 32>>>(states, 42);
  darts<<<2, 32>>>(states, hits, 500);
  darts<<<2, 32>>>(states, hits, 500);
  expect("pi", std::vector<double>{4.0 * on_host(hits, 1)[0] / 64000},
         std::vector<double>{3.14159265}, 0.01);

  float* y = on_device(std::vector<float>(2));
  moments<<<1, 32>>>(y);
  expect("moments", on_host(y, 2), std::vector<float>{0, 1}, 0.02);

  const int n = 10000;
  float* x = on_device(std::vector<float>(n));
  curandGenerator_t generator;
  CURAND_CHECK(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT));
  CURAND_CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1234ULL));
  CURAND_CHECK(curandGenerateUniform(generator, x, n));
  double mean = 0;
  for (const float each : on_host(x, n)) mean += each / n;
  CURAND_CHECK(curandGenerateNormal(generator, x, n, 5.0f, 2.0f));
  double middle = 0, spread = 0;
  for (const float each : on_host(x, n)) middle += each / n;
  for (const float each : on_host(x, n)) spread += (each - middle) * (each - middle) / n;
  CURAND_CHECK(curandDestroyGenerator(generator));
  expect("arrays", std::vector<double>{mean, middle, spread}, std::vector<double>{0.5, 5, 4}, 0.02);
}
