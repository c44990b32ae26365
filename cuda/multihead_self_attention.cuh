// Causal multi-head self-attention, for all files that need it. Its versions, and which of them is
// launched, are in multihead_self_attention.cu.
#pragma once

#include "device.cuh"

#include <optional>
#include <prenorm/prenorm.hpp>

namespace prenorm::cuda {

/// How q and k are turned. Without token_positions by 0, 1, ..., seq - 1.
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
  const T* w_qkv;            // [3 d_model, d_model], in their place; null where they are
  const T* w_o;              // [d_model, d_model]
  View<T> y;                 // [..., seq, d_model], apart from x and the weights
  std::int64_t num_heads;
  std::optional<HeadRotation> rope = std::nullopt;
  const T* residual = nullptr;  // of y's shape; may be x or y. Rounded with y, once
};

/// std::invalid_argument where num_heads does not divide d_model, or by check_rope of rope.cuh.
/// The versions below do this first; for a caller that enqueues something before them.
template <class T>
void check_heads(const MultiheadSelfAttention<T>& m);

/// The reference's steps, each by its first version.
///
/// This and the others: positions that are given are looked at on the device, and one out of range
/// is std::invalid_argument at the end of the call; while a graph is captured its rows, and those
/// that attend to it, are NaN. An empty output is no launch. For T: double, float, float16,
/// bfloat16.
template <class T>
void multihead_v1(const MultiheadSelfAttention<T>& m, Stream stream);

/// The launched one: v2.
template <class T>
void multihead_launched(const MultiheadSelfAttention<T>& m, Stream stream);

/// v2, but for the products, which are product_v2: a sequence has the same bits however many others
/// there are.
template <class T>
void multihead_batch_invariant(const MultiheadSelfAttention<T>& m, Stream stream);

}  // namespace prenorm::cuda
