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
constexpr int bf16_products = 6;

/// Calls work(i, j) for each product of part i of one operand and part j of the other, the smallest
/// first.
template <class Work>
__device__ __forceinline__ void each_bf16_product(Work work) {
  constexpr int pairs[bf16_products][2] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
#pragma unroll
  for (const auto& [i, j] : pairs) work(i, j);
}

/// Two neighbours as a register of a fragment for each part, the largest first. Returns the bits
/// of what is left for the last part, of both: the lower half is 0 where that is a bfloat16, so
/// that nothing is lost. Of infinities, NaN and what exceeds bfloat16 the second part is NaN, and
/// so is each sum with it: the caller computes such sums again, in another way.
__device__ inline unsigned split(unsigned (&parts)[bf16_parts], float first, float second) {
  unsigned left = 0;
#pragma unroll
  for (unsigned& part : parts) {
    left = __builtin_bit_cast(unsigned, first) | __builtin_bit_cast(unsigned, second);
    part = pack<bfloat16>(first, second);
    first -= __builtin_bit_cast(float, part << 16);
    second -= __builtin_bit_cast(float, part & 0xffff0000u);
  }
  return left;
}

/// sum[i] += a(i) b(i), for some tiles. Tensor cores cut off what is below the largest term's last
/// bits: they sum 16 terms of each product of parts, the smallest first, and what they give is
/// added by rounding to nearest. (Added by them, a sum of 8192 terms was off 70 times as far on an
/// H200.) Products of one tile wait for each other, those of several do not.
template <int tiles, class A, class B>
__device__ __forceinline__ void mma_bf16x6(float (*sum)[4], A a, B b) {
  float terms[tiles][4] = {};
  each_bf16_product([&](int i, int j) {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      mma<bfloat16>(terms[tile], a(tile)[i], b(tile)[j][0], b(tile)[j][1]);
    }
  });
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[tile][i] += terms[tile][i];
  }
}

}  // namespace prenorm::cuda
