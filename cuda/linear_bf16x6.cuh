// The product of float32 on tensor cores: linear_bf16x6.cu, for Hopper linear_bf16x6_wgmma.cu.
#pragma once

#include "product.cuh"

namespace prenorm::cuda {

/// Products by three parts of bfloat16 (bf16x6.cuh), for T = float: not_implemented for others. A
/// row has the same bits however many others there are.
template <class T>
void product_bf16x6(const Product<T>& product, Stream stream);

/// The same by Hopper's tensor cores. False, and nothing is done, where T is not float, the device
/// not of compute capability 9.0, or the residual is y.
template <class T>
bool product_bf16x6_wgmma(const Product<T>& product, Stream stream);

/// Sums from here on are right where bits of a factor were lost, up to 2^-134 of each: for weights
/// of 2^30 together.
constexpr float least_exact = 0x1p-80f;

/// x weightᵀ of one output, as v1 computes it.
__device__ inline float plain_sum(const Product<float>& p, std::int64_t row, std::int64_t column) {
  const float *x = p.x + row * p.d_in, *weight = p.weight + column * p.d_in;
  float sum = 0;
#pragma unroll 1
  for (std::int64_t k = 0; k < p.d_in; ++k) sum += x[k] * weight[k];
  return sum;
}

}  // namespace prenorm::cuda
