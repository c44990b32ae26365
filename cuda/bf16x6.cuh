// Products of float32 on tensor cores, nearly as accurate as by float32's own instructions: each
// operand is split into three bfloat16, and of the nine products of parts six are summed.
//
// A bfloat16 has 8 of float32's 24 significant bits, and its exponents: so three parts, each the
// nearest to what those before leave, are all of x, where none is below the smallest normal number.
// The products that are left out are at most 2^-24 of all of it, about a rounding of float32.
#pragma once

#include "mma.cuh"
#include "types.cuh"

namespace prenorm::cuda {

constexpr int bf16_parts = 3;

/// Two neighbours as a register of a fragment for each part, the largest first. Of infinities, NaN
/// and what exceeds bfloat16 the second part is NaN, and so is each sum with it: the caller
/// computes such sums again, in another way.
__device__ inline void split(unsigned (&parts)[bf16_parts], float first, float second) {
#pragma unroll
  for (unsigned& part : parts) {
    part = pack<bfloat16>(first, second);
    bfloat16 low, high;
    low.bits = static_cast<std::uint16_t>(part);
    high.bits = static_cast<std::uint16_t>(part >> 16);
    first -= widen(low);
    second -= widen(high);
  }
}

/// sum += a b. Tensor cores cut off what is below the largest term's last bits: they sum 16 terms
/// of each product of parts, the smallest first, and what they give is added by rounding to
/// nearest.
__device__ inline void mma_bf16x6(float (&sum)[4], const unsigned (&a)[bf16_parts][4],
                                  const unsigned (&b)[bf16_parts][2]) {
  float terms[4] = {};
  constexpr int orders[][2] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
#pragma unroll
  for (const auto& [i, j] : orders) mma<bfloat16>(terms, a[i], b[j][0], b[j][1]);
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] += terms[i];
}

}  // namespace prenorm::cuda
