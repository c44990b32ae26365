// Feed-forward networks, for all files that need one. Their versions, and which of them is
// launched, are in feed_forward.cu.
#pragma once

#include "device.cuh"

#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// y = activation(x w1ᵀ) w2ᵀ, of a SwiGLU y = (silu(x w1ᵀ) * x w3ᵀ) w2ᵀ; and + residual.
template <class T>
struct FeedForward {
  const T* x;        // [rows, d_model]
  const T *w1, *w2;  // [d_ff, d_model], [d_model, d_ff]
  const T* w3;       // [d_ff, d_model]; null where nothing is gated
  T* y;              // [rows, d_model], apart from x and the weights
  std::int64_t rows, d_model, d_ff;
  const T* residual = nullptr;  // [rows, d_model]; may be y. Rounded with the last product, once
};

/// By first versions of all kernels.
///
/// These and the others: d_ff = 0 with an output that is not empty is std::invalid_argument. For T:
/// double, float, float16, bfloat16.
template <class T>
void ffn_gelu_v1(const FeedForward<T>& network, Stream stream);
template <class T>
void ffn_swiglu_v1(const FeedForward<T>& network, Stream stream);

/// The launched ones.
template <class T>
void ffn_gelu_launched(const FeedForward<T>& network, Stream stream);
template <class T>
void ffn_swiglu_launched(const FeedForward<T>& network, Stream stream);

/// The launched ones, but for the products, which are product_v2: a row has the same bits however
/// many others there are.
template <class T>
void ffn_gelu_batch_invariant(const FeedForward<T>& network, Stream stream);
template <class T>
void ffn_swiglu_batch_invariant(const FeedForward<T>& network, Stream stream);

}  // namespace prenorm::cuda
