// Activation functions: of one number, in the compute type (float or double), for kernels that hold
// it in a register; and of a whole tensor, by the kernels of activations.cu.
#pragma once

#include "approximate.cuh"
#include "types.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

// Each function has two forms. The operator is the formula. `rounded` is for results that are then
// rounded to float16 or bfloat16, with at most two of the hardware's approximations. Its own error
// is below 1/50 unit in the last place of either type; that of the rounding, up to 1/2, comes on
// top. What its parts add, in such units, where float16 has 2^11 in a result and bfloat16 2^8:
//
//   the exponent, at most 32 (162) far from 0   rounded to 2^-20 (2^-17)            0.002
//   exponential, reciprocal, product, sum       2 units in the last place of float  0.002
//   the polynomial of Gelu                                                          0.015

/// Factor of exponentials and reciprocals, which would be lost below 2^-126: bfloat16 has results
/// to 2^-133.
constexpr float tail = 0x1p-24f, log2_of_tail = -24;

/// max(0, x). Every comparison with NaN is false, so NaN is kept; so is -0.
struct Relu {
  template <class C>
  __device__ C operator()(C x) const {
    return x < 0 ? C(0) : x;  // step: maximum with 0
  }
  static __device__ float rounded(float x) { return Relu()(x); }
};

/// The logistic function. exp(-x) is in the denominator: where it overflows the quotient is 0.
struct Sigmoid {
  template <class C>
  __device__ C operator()(C x) const {
    return 1 / (1 + exp(-x));
  }
  static __device__ float rounded(float x) {
    constexpr float log2_of_e = 1.44269504f;
    return tail * reciprocal_fast(tail + exp2_fast(fmaf(x, -log2_of_e, log2_of_tail)));
  }
};

/// x sigmoid(x), by one division: finite for every finite x.
struct Silu {
  template <class C>
  __device__ C operator()(C x) const {
    return x / (1 + exp(-x));  // step: x sigmoid(x)
  }
  static __device__ float rounded(float x) {
    return x * Sigmoid::rounded(x);  // step: x sigmoid(x)
  }
};

/// x Phi(x), the exact form. By erfc, which does not cancel where x is far below 0.
struct Gelu {
  template <class C>
  __device__ C operator()(C x) const {
    return x * (erfc(x * C(-0.70710678118654752440)) * C(0.5));  // step: Phi, x Phi(x)
  }

  /// Phi(-|x|) is 2 to a polynomial in |x|, fitted so that the largest error of x Phi(x), in units
  /// in the last place, is the least for |x| <= 13.8. Beyond, the result is 0 in both types, and
  /// the polynomial falls on: its last coefficient is negative.
  static __device__ float rounded(float x) {
    constexpr float others[] = {1.55186617e-07f, -4.88608523e-06f, 8.94103908e-05f,
                                -0.00106660617f, 0.00887829168f,   -0.0545035017f,
                                -0.458078884f,   -1.15135282f,     -0.999991017f - log2_of_tail};
    float exponent = -2.16204623e-9f;
#pragma unroll
    for (const float coefficient : others) exponent = fmaf(exponent, fabsf(x), coefficient);
    const float lower = tail * exp2_fast(exponent);  // step: Phi
    return x * (x < 0 ? lower : 1 - lower);          // step: x Phi(x)
  }
};

/// activation(x), as accurate as T needs it and not yet rounded to T.
template <class Activation, class T>
__device__ compute_t<T> activated(T x) {
  if constexpr (sizeof(T) == 2) {
    return Activation::rounded(widen(x));
  } else {
    return Activation()(widen(x));
  }
}

/// y = activation(x), one element per thread; y may be x. `name` is for messages. For the functions
/// above and T: double, float, float16, bfloat16, as the next one.
template <class Activation, class T>
void activate_v1(const char* name, const T* x, T* y, std::int64_t size, Stream stream);

/// The launched version. x and y must be aligned to 16 bytes.
template <class Activation, class T>
void activate_launched(const char* name, const T* x, T* y, std::int64_t size, Stream stream);

}  // namespace prenorm::cuda
