// The Transformer block, for all files that need one. Its versions, and which of them is launched,
// are in transformer_block.cu.
#pragma once

#include "feed_forward.cuh"
#include "multihead_self_attention.cuh"
#include "product.cuh"
#include "rmsnorm.cuh"

namespace prenorm::cuda {

/// The arguments of a block. It can work in place: y may be the memory of x.
template <class T>
struct BlockCall {
  View<const T> x;  // [..., seq, d_model]
  const T *ln1, *w_q, *w_k, *w_v, *w_o, *ln2, *w1, *w2;
  const T* w3;  // null: GELU
  View<T> y;
  std::int64_t d_ff, num_heads;
  std::optional<HeadRotation> rope;
  double eps;

  std::int64_t rows() const { return rows_of(x); }
  std::int64_t d_model() const { return x.shape().back(); }

  // What the parts take: `to` gets what they make of `of`.
  MultiheadSelfAttention<T> attention(const T* of, T* to, const T* residual) const {
    return {View<const T>(of, x.shape()), w_q,       w_k,  w_v,     nullptr, w_o,
            View<T>(to, x.shape()),       num_heads, rope, residual};  // step: residual sum
  }
  Norm<T> norm(const T* of, const T* gain, T* to) const {
    return {of, gain, to, rows(), d_model(), eps};
  }
  FeedForward<T> network(const T* of, T* to, const T* residual) const {
    return {of, w1, w2, w3, to, rows(), d_model(), d_ff, residual};  // step: residual sum
  }

  /// Throws what a part would throw later, before anything is launched.
  void check() const;
};

/// y = x + attention(norm(x)); y = y + network(norm(y)), by the parts of V: V1, Launched or
/// BatchInvariant of versions.cuh. For T: double, float, float16, bfloat16.
template <class V, class T>
void pre_norm_block(const BlockCall<T>& call, Stream stream);

}  // namespace prenorm::cuda
