// Feed-forward networks, for all files that need one. Their versions, and which of them is
// launched, are in feed_forward.cu.
#pragma once

#include "device.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y = activation(x w1ᵀ) w2ᵀ, for SwiGLU y = (silu(x w1ᵀ) * x w3ᵀ) w2ᵀ; and + residual.
template <class T>
struct FeedForward {
  const T* x;        // [rows, d_model]
  const T *w1, *w2;  // [d_ff, d_model], [d_model, d_ff]
  const T* w3;       // [d_ff, d_model]; null where nothing is gated
  T* y;              // [rows, d_model], apart from x and the weights
  std::int64_t rows, d_model, d_ff;
  const T* residual = nullptr;  // [rows, d_model]; may be y. Rounded with the last product, once
};

/// SwiGLU, or GELU where w3 is null, by the parts of V: V1, Launched or BatchInvariant of
/// versions.cuh.
///
/// d_ff = 0 with an output that is not empty is std::invalid_argument. For T: double, float,
/// float16, bfloat16.
template <class V, class T>
void feed_forward(const FeedForward<T>& network, Stream stream);

}  // namespace prenorm::cuda
