// Causal multi-head self-attention, for all files that need it. Its versions, and which of them is
// launched, are in multihead_self_attention.cu.
#pragma once

#include "device.cuh"

#include <optional>
#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// How q and k are rotated. Without token_positions: by positions 0, 1, ..., seq - 1.
struct HeadRotation {
  std::optional<View<const std::int64_t>> token_positions;  // [..., seq]
  double theta;
  std::int64_t max_seq_len;
};

/// y = concat(head_0, head_1, ...) w_oᵀ, or that + residual.
template <class T>
struct MultiheadSelfAttention {
  View<const T> x;           // [..., seq, d_model]
  const T *w_q, *w_k, *w_v;  // [d_model, d_model] each
  const T* w_qkv;            // [3 d_model, d_model], in place of these three; else null
  const T* w_o;              // [d_model, d_model]
  View<T> y;                 // [..., seq, d_model], apart from x and the weights
  std::int64_t num_heads;
  std::optional<HeadRotation> rope = std::nullopt;
  const T* residual = nullptr;  // of y's shape; may be x or y. Rounded with y, once
};

/// std::invalid_argument where num_heads does not divide d_model, or by check_rope of rope.cuh.
/// multihead does this first; for a caller that enqueues something before it.
template <class T>
void check_heads(const MultiheadSelfAttention<T>& m);

/// By the parts of V: V1, Launched or BatchInvariant of versions.cuh. With the last a sequence has
/// the same bits however many others there are.
///
/// Given positions are checked on the device, and one out of range is std::invalid_argument at the
/// end of the call; while a graph is captured its row, and those that attend to it, are NaN. An
/// empty output is no launch. For T: double, float, float16, bfloat16.
template <class V, class T>
void multihead(const MultiheadSelfAttention<T>& m, Stream stream);

}  // namespace prenorm::cuda
