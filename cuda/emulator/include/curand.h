// <curand.h> of the emulator: arrays of random numbers. A seed gives the same numbers each time,
// but not in the order in which a device gives them.
#pragma once

#include "cuda_runtime.h"
#include "curand_types.h"

using curandGenerator_t = struct prenorm_curand*;

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type);
curandStatus_t curandDestroyGenerator(curandGenerator_t generator);
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed);
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset);
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* to, std::size_t n);
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* to, std::size_t n);
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* to, std::size_t n);
/// n must be even: they come in twos.
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* to, std::size_t n,
                                    float mean, float deviation);
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* to, std::size_t n,
                                          double mean, double deviation);
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* to, std::size_t n,
                                       float mean, float deviation);
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* to, std::size_t n,
                                             double mean, double deviation);

inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator,
                                                curandRngType_t type) {
  return curandCreateGenerator(generator, type);
}
inline curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t) {
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t) {
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandGenerateSeeds(curandGenerator_t) { return CURAND_STATUS_SUCCESS; }
inline curandStatus_t curandGetVersion(int* version) {
  *version = 10400;
  return CURAND_STATUS_SUCCESS;
}
