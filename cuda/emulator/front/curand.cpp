// cuRAND: what include/curand.h declares, and steps of XORWOW at once.
#include "include/curand.h"

#include "bounds.hpp"
#include "include/curand_kernel.h"

#include <array>
#include <random>
#include <vector>

namespace prenorm::emulator {
namespace {

/// Of 160 bits to 160 bits, over the field of two elements: the images of the single bits.
using Matrix = std::array<Xorwow, 160>;

Xorwow times(const Matrix& matrix, const Xorwow& state) {
  Xorwow result{};
  for (std::size_t bit = 0; bit < 160; ++bit) {
    if ((state.v[bit / 32] >> bit % 32 & 1u) == 0) continue;
    for (int i = 0; i < 5; ++i) result.v[i] ^= matrix[bit].v[i];
  }
  return result;
}

/// One step, and 2, 4, 8, ... 2^130.
const std::vector<Matrix>& powers() {
  static const std::vector<Matrix> all = [] {
    std::vector<Matrix> result(131);
    for (std::size_t bit = 0; bit < 160; ++bit) {
      curandStateXORWOW single{};
      single.linear.v[bit / 32] = 1u << bit % 32;
      curand(&single);
      result[0][bit] = single.linear;
    }
    for (std::size_t i = 1; i < result.size(); ++i) {
      for (std::size_t bit = 0; bit < 160; ++bit) {
        result[i][bit] = times(result[i - 1], result[i - 1][bit]);
      }
    }
    return result;
  }();
  return all;
}

}  // namespace

Xorwow skipped(Xorwow state, unsigned long long subsequence, unsigned long long offset) {
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((offset >> bit & 1u) != 0) state = times(powers()[bit], state);
    if ((subsequence >> bit & 1u) != 0) state = times(powers()[67 + bit], state);
  }
  return state;
}

}  // namespace prenorm::emulator

struct prenorm_curand {
  unsigned next() {
    switch (type) {
      case CURAND_RNG_PSEUDO_PHILOX4_32_10: return curand(&philox);
      case CURAND_RNG_PSEUDO_MT19937: return static_cast<unsigned>(twister());
      default: return curand(&xorwow);
    }
  }
  void begin() {
    curand_init(seed, 0, offset, &xorwow);
    curand_init(seed, 0, offset, &philox);
    twister.seed(static_cast<unsigned>(seed));
    twister.discard(offset);
  }
  curandRngType_t type;
  unsigned long long seed = 0, offset = 0;
  curandStateXORWOW xorwow;
  curandStatePhilox4_32_10 philox;
  std::mt19937 twister;
};

namespace {

/// Fills n values by what `next` gives, so many at a time.
template <class T, class Next>
curandStatus_t fill(curandGenerator_t generator, T* to, std::size_t n, std::size_t group,
                    Next next) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (n % group != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (!prenorm::emulator::has_room(to, n * sizeof(T))) return CURAND_STATUS_LAUNCH_FAILURE;
  const prenorm::emulator::bounds::Open device_memory;
  for (std::size_t i = 0; i < n; i += group) next(to + i);
  prenorm::emulator::bounds::wrote(to, n * sizeof(T));
  return CURAND_STATUS_SUCCESS;
}
template <class T, class Change>
curandStatus_t fill_normal(curandGenerator_t generator, T* to, std::size_t n, T mean, T deviation,
                           Change change) {
  return fill(generator, to, n, 2, [&](T* at) {
    const auto put = [&](auto both) {
      at[0] = change(mean + deviation * static_cast<T>(both.x));
      at[1] = change(mean + deviation * static_cast<T>(both.y));
    };
    const unsigned first = generator->next(), second = generator->next();
    if constexpr (sizeof(T) == 4) {
      put(prenorm::emulator::normal(first, second));
    } else {
      const unsigned third = generator->next();
      put(prenorm::emulator::normal_double({first, second, third, generator->next()}));
    }
  });
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  *generator = new prenorm_curand{type, 0, 0, {}, {}, {}};
  (*generator)->begin();
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;
  generator->begin();
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  generator->offset = offset;
  generator->begin();
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* to, std::size_t n) {
  return fill(generator, to, n, 1, [&](unsigned* at) { *at = generator->next(); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* to, std::size_t n) {
  return fill(generator, to, n, 1,
              [&](float* at) { *at = prenorm::emulator::uniform(generator->next()); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* to, std::size_t n) {
  return fill(generator, to, n, 1, [&](double* at) {
    const unsigned first = generator->next();
    *at = prenorm::emulator::uniform_double(first, generator->next());
  });
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* to, std::size_t n,
                                    float mean, float deviation) {
  return fill_normal(generator, to, n, mean, deviation, [](float x) { return x; });
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* to, std::size_t n,
                                          double mean, double deviation) {
  return fill_normal(generator, to, n, mean, deviation, [](double x) { return x; });
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* to, std::size_t n,
                                       float mean, float deviation) {
  return fill_normal(generator, to, n, mean, deviation, [](float x) { return std::exp(x); });
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* to, std::size_t n,
                                             double mean, double deviation) {
  return fill_normal(generator, to, n, mean, deviation, [](double x) { return std::exp(x); });
}
