// Sampling as language models do: temperatures, a running sum by cub, a random number for each row.
#include <cub/cub.cuh>
#include <curand_kernel.h>

#include "check.h"

constexpr int words = 64;

__global__ void sample(const float* logits, int* tokens, float temperature,
                       unsigned long long seed) {
  using Scan = cub::BlockScan<float, words>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ float chosen;
  const float weight = expf(logits[threadIdx.x] / temperature);
  float before, all;
  Scan(storage).ExclusiveSum(weight, before, all);
  if (threadIdx.x == 0) {
    curandStatePhilox4_32_10_t state;
    curand_init(seed, blockIdx.x, 0, &state);
    chosen = all * (1 - curand_uniform(&state));
  }
  __syncthreads();
  if (before <= chosen && chosen < before + weight) tokens[blockIdx.x] = threadIdx.x;
}

int main() {
  std::vector<float> logits(words, -20);
  logits[5] = 1;
  logits[40] = 1 + std::log(3.0f);
  const int rows = 400;
  float* of_words = on_device(logits);
  int* tokens = on_device(std::vector<int>(rows, 40));
  sample<<<rows, words>>>(of_words, tokens, 1.0f, 11);
  double fifth = 0, fortieth = 0;
  for (const int each : on_host(tokens, rows)) {
    fifth += each == 5;
    fortieth += each == 40;
  }
  expect("shares", std::vector<double>{fifth / rows, fortieth / rows},
         std::vector<double>{0.25, 0.75}, 0.05);
  sample<<<rows, words>>>(of_words, tokens, 0.05f, 12);  // nearly always the largest
  expect("cold", on_host(tokens, rows), std::vector<int>(rows, 40), 0);
}
