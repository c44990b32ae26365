// Activation functions: of one number, in the compute type (float or double), for kernels that hold
// it in a register; and of a whole tensor, by the kernels of activations.cu.
#pragma once

#include "device.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// max(0, x). Every comparison with NaN is false, so NaN is kept; so is -0.
struct Relu {
  template <class C>
  __device__ C operator()(C x) const {
    return x < 0 ? C(0) : x;  // step: maximum with 0
  }
};

/// The logistic function. exp(-x) is in the denominator: where it overflows the quotient is 0.
struct Sigmoid {
  template <class C>
  __device__ C operator()(C x) const {
    return 1 / (1 + exp(-x));
  }
};

/// x sigmoid(x), by one division: finite for every finite x.
struct Silu {
  template <class C>
  __device__ C operator()(C x) const {
    return x / (1 + exp(-x));  // step: x sigmoid(x)
  }
};

/// x Phi(x), the exact form. By erfc, which does not cancel where x is far below 0.
struct Gelu {
  template <class C>
  __device__ C operator()(C x) const {
    return x * (erfc(x * C(-0.70710678118654752440)) * C(0.5));  // step: Phi, x Phi(x)
  }
};

/// y = activation(x), one element per thread; y may be x. `name` is for messages. For the functions
/// above and T: double, float, float16, bfloat16, as the next one.
template <class Activation, class T>
void activate_v1(const char* name, const T* x, T* y, std::int64_t size, Stream stream);

/// The launched version. x and y must be aligned to 16 bytes.
template <class Activation, class T>
void activate_launched(const char* name, const T* x, T* y, std::int64_t size, Stream stream);

}  // namespace prenorm::cuda
