// <curand_kernel.h> of the emulator: random numbers in kernels, by XORWOW and Philox4_32_10.
//
// Source   XORWOW: Marsaglia 2003, Xorshift RNGs, Journal of Statistical Software 8(14);
//          Philox: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3, SC '11
// Integers and uniform numbers are bit for bit those of a device. Normal ones are by Box and Muller
// with the host's logarithm and sine.
#pragma once

#include "cuda_runtime.h"
#include "curand_types.h"

namespace prenorm::emulator {

/// The linear part of XORWOW's state.
struct Xorwow {
  unsigned v[5];
};
/// The state after 2^67 subsequence + offset steps.
Xorwow skipped(Xorwow state, unsigned long long subsequence, unsigned long long offset);

}  // namespace prenorm::emulator

struct curandStateXORWOW {
  prenorm::emulator::Xorwow linear;
  unsigned counter;
  float next_normal;
  double next_normal_double;
  bool has_normal, has_normal_double;
};
using curandStateXORWOW_t = curandStateXORWOW;
using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;

struct curandStatePhilox4_32_10 {
  uint4 counter, output;
  uint2 key;
  unsigned used;  // of the output
  float next_normal;
  double next_normal_double;
  bool has_normal, has_normal_double;
};
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

// --- XORWOW --------------------------------------------------------------------------------------

inline void skipahead(unsigned long long steps, curandStateXORWOW* state) {
  state->linear = prenorm::emulator::skipped(state->linear, 0, steps);
  state->counter += static_cast<unsigned>(steps) * 362437u;
}
inline void skipahead_sequence(unsigned long long subsequences, curandStateXORWOW* state) {
  state->linear = prenorm::emulator::skipped(state->linear, subsequences, 0);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateXORWOW* state) {
  // Marsaglia's first state, changed by the halves of the seed.
  const unsigned low = (static_cast<unsigned>(seed) ^ 0xaad26b49u) * 1099087573u;
  const unsigned high = (static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;
  *state = {};
  state->linear = {
      {123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low}};
  state->counter = 6615241u + low + high;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned curand(curandStateXORWOW* state) {
  unsigned* v = state->linear.v;
  const unsigned oldest = v[0] ^ (v[0] >> 2), newest = v[4] ^ (v[4] << 4);
  for (int i = 0; i < 4; ++i) v[i] = v[i + 1];
  v[4] = newest ^ oldest ^ (oldest << 1);
  return v[4] + (state->counter += 362437u);
}

// --- Philox4_32_10 -------------------------------------------------------------------------------

namespace prenorm::emulator {

inline uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long first = 0xd2511f53ull * counter.x, second = 0xcd9e8d57ull * counter.z;
    counter = {
        static_cast<unsigned>(second >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(second),
        static_cast<unsigned>(first >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(first)};
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  return counter;
}
/// Adds to the low half of the counter, or to the high one, with a carry.
inline void add(uint4& counter, unsigned long long more, bool to_high) {
  const auto joined = [](unsigned low, unsigned high) {
    return static_cast<unsigned long long>(high) << 32 | low;
  };
  unsigned long long low = joined(counter.x, counter.y), high = joined(counter.z, counter.w);
  if (to_high) {
    high += more;
  } else {
    low += more;
    high += low < more;
  }
  counter = {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32),
             static_cast<unsigned>(high), static_cast<unsigned>(high >> 32)};
}

}  // namespace prenorm::emulator

inline void skipahead(unsigned long long steps, curandStatePhilox4_32_10* state) {
  const unsigned long long ahead = state->used + (steps & 3);
  prenorm::emulator::add(state->counter, steps / 4 + ahead / 4, false);
  state->used = static_cast<unsigned>(ahead & 3);
  state->output = prenorm::emulator::philox(state->counter, state->key);
}
inline void skipahead_sequence(unsigned long long subsequences, curandStatePhilox4_32_10* state) {
  prenorm::emulator::add(state->counter, subsequences, true);
  state->output = prenorm::emulator::philox(state->counter, state->key);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStatePhilox4_32_10* state) {
  *state = {};
  state->key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned curand(curandStatePhilox4_32_10* state) {
  const unsigned words[] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned result = words[state->used];
  skipahead(1, state);
  return result;
}

namespace prenorm::emulator {

/// The next four.
template <class State>
uint4 four(State* state) {
  uint4 result;
  result.x = curand(state);
  result.y = curand(state);
  result.z = curand(state);
  result.w = curand(state);
  return result;
}

}  // namespace prenorm::emulator

inline uint4 curand4(curandStatePhilox4_32_10* state) { return prenorm::emulator::four(state); }

// --- distributions -------------------------------------------------------------------------------

namespace prenorm::emulator {

/// In (0, 1].
inline float uniform(unsigned x) { return static_cast<float>(x) * 0x1p-32f + 0x1p-33f; }
inline double uniform_double(unsigned x, unsigned y) {
  const unsigned long long bits = x ^ (static_cast<unsigned long long>(y) << 21);
  return static_cast<double>(bits) * 0x1p-53 + 0x1p-54;
}
/// Box and Muller's two.
inline float2 normal(unsigned x, unsigned y) {
  const float length = sqrtf(-2.0f * logf(uniform(x)));
  const float angle = static_cast<float>(y) * (0x1p-32f * 6.2831855f) + 0x1p-33f * 6.2831855f;
  return {length * sinf(angle), length * cosf(angle)};
}
inline double2 normal_double(uint4 x) {
  const double length = sqrt(-2.0 * log(uniform_double(x.x, x.y)));
  const double half_turns = 2 * uniform_double(x.z, x.w);
  return {length * sinpi(half_turns), length * cospi(half_turns)};
}
}  // namespace prenorm::emulator

#define PRENORM_RANDOM(State)                                                                     \
  inline float curand_uniform(State* state) { return prenorm::emulator::uniform(curand(state)); } \
  inline float2 curand_normal2(State* state) {                                                    \
    const unsigned first = curand(state);                                                         \
    return prenorm::emulator::normal(first, curand(state));                                       \
  }                                                                                               \
  inline double2 curand_normal2_double(State* state) {                                            \
    return prenorm::emulator::normal_double(prenorm::emulator::four(state));                      \
  }                                                                                               \
  /* The second of two is kept for the next call. */                                              \
  inline float curand_normal(State* state) {                                                      \
    state->has_normal = !state->has_normal;                                                       \
    if (!state->has_normal) return state->next_normal;                                            \
    const float2 both = curand_normal2(state);                                                    \
    state->next_normal = both.y;                                                                  \
    return both.x;                                                                                \
  }                                                                                               \
  inline double curand_normal_double(State* state) {                                              \
    state->has_normal_double = !state->has_normal_double;                                         \
    if (!state->has_normal_double) return state->next_normal_double;                              \
    const double2 both = curand_normal2_double(state);                                            \
    state->next_normal_double = both.y;                                                           \
    return both.x;                                                                                \
  }                                                                                               \
  inline float curand_log_normal(State* state, float mean, float deviation) {                     \
    return expf(mean + deviation * curand_normal(state));                                         \
  }                                                                                               \
  inline double curand_log_normal_double(State* state, double mean, double deviation) {           \
    return exp(mean + deviation * curand_normal_double(state));                                   \
  }
PRENORM_RANDOM(curandStateXORWOW)
PRENORM_RANDOM(curandStatePhilox4_32_10)
#undef PRENORM_RANDOM

inline double curand_uniform_double(curandStateXORWOW* state) {
  const unsigned first = curand(state);
  return prenorm::emulator::uniform_double(first, curand(state));
}
/// Of one word only.
inline double curand_uniform_double(curandStatePhilox4_32_10* state) {
  return curand(state) * 0x1p-32 + 0x1p-32;
}
inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  using prenorm::emulator::uniform;
  const uint4 x = curand4(state);
  return {uniform(x.x), uniform(x.y), uniform(x.z), uniform(x.w)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  const float2 first = prenorm::emulator::normal(x.x, x.y);
  const float2 second = prenorm::emulator::normal(x.z, x.w);
  return {first.x, first.y, second.x, second.y};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return {prenorm::emulator::uniform_double(x.x, x.y), prenorm::emulator::uniform_double(x.z, x.w)};
}
