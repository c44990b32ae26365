// Activation functions of one number, in the type that computes: float or double. For kernels that
// apply them to results which they hold anyway, and for those of activations.cu.
#pragma once

#include "device.cuh"

namespace prenorm::cuda {

/// max(0, x). Every comparison with NaN is false, so NaN is kept; so is -0.
struct Relu {
  template <class C>
  __device__ C operator()(C x) const {
    return x < 0 ? C(0) : x;  // step: maximum with 0
  }
};

/// The logistic function. exp(-x) below the line: where it overflows the quotient is 0.
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

}  // namespace prenorm::cuda
