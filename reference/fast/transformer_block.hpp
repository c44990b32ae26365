// The Transformer block.
//
//   transformer_block             pre-norm, with RoPE and SwiGLU
//   transformer_block_post_norm   the same in post-norm order, for contrast
//   transformer_block_gelu        the 2024 edition: pre-norm, without RoPE, with GELU
//
// Contracts: reference/transformer_block.hpp
#pragma once

#include "feed_forward.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"

namespace prenorm::fast {

/// The residual sum of two tensors of the same shape.
template <class T>
Tensor<T> plus(const Tensor<T>& a, const Tensor<T>& b) {
  require_same_shape(a, b, "the terms of a residual sum");
  // step: residual sum
  return map_elements(a, b, [](const auto& u, const auto& v) { return u + v; });
}

/// The order of a pre-norm block:  y = x + attention(norm1(x)), then y + network(norm2(y)).
template <class T, class Norm1, class Attention, class Norm2, class Network>
Tensor<T> pre_norm(const Tensor<T>& x, const Norm1& norm1, const Attention& attention,
                   const Norm2& norm2, const Network& network) {
  const Tensor<T> y = plus(x, attention(norm1(x)));  // step: first norm, attention
  return plus(y, network(norm2(y)));                 // step: second norm, feed-forward
}

/// The order of a post-norm block:  y = norm1(x + attention(x)), then norm2(y + network(y)).
template <class T, class Norm1, class Attention, class Norm2, class Network>
Tensor<T> post_norm(const Tensor<T>& x, const Norm1& norm1, const Attention& attention,
                    const Norm2& norm2, const Network& network) {
  const Tensor<T> y = norm1(plus(x, attention(x)));  // step: attention, first norm
  return norm2(plus(y, network(y)));                 // step: feed-forward, second norm
}

/// Pre-norm Transformer block:
///   y   = x + multihead_self_attention_with_rope(rmsnorm(x, ln1))
///   out = y + ffn_swiglu(rmsnorm(y, ln2))
///
/// Shapes   x[..., seq, d_model], ln1, ln2[d_model], w_q, w_k, w_v, w_o[d_model, d_model],
///          w1, w3[d_ff, d_model], w2[d_model, d_ff] -> y[..., seq, d_model]
template <class T>
Tensor<T> transformer_block(const Tensor<T>& x, const Tensor<T>& ln1, const Tensor<T>& w_q,
                            const Tensor<T>& w_k, const Tensor<T>& w_v, const Tensor<T>& w_o,
                            const Tensor<T>& ln2, const Tensor<T>& w1, const Tensor<T>& w2,
                            const Tensor<T>& w3, std::int64_t num_heads, double theta,
                            std::int64_t max_seq_len, double eps = 1e-5) {
  return pre_norm(
      x, [&](const Tensor<T>& a) { return rmsnorm(a, ln1, eps); },
      [&](const Tensor<T>& a) {
        return multihead_self_attention_with_rope(a, w_q, w_k, w_v, w_o, {}, num_heads, theta,
                                                  max_seq_len);
      },
      [&](const Tensor<T>& a) { return rmsnorm(a, ln2, eps); },
      [&](const Tensor<T>& a) { return ffn_swiglu(a, w1, w2, w3); });
}

/// Post-norm Transformer block, for contrast:
///   y   = rmsnorm(x + multihead_self_attention_with_rope(x), ln1)
///   out = rmsnorm(y + ffn_swiglu(y), ln2)
template <class T>
Tensor<T> transformer_block_post_norm(const Tensor<T>& x, const Tensor<T>& ln1,
                                      const Tensor<T>& w_q, const Tensor<T>& w_k,
                                      const Tensor<T>& w_v, const Tensor<T>& w_o,
                                      const Tensor<T>& ln2, const Tensor<T>& w1,
                                      const Tensor<T>& w2, const Tensor<T>& w3,
                                      std::int64_t num_heads, double theta,
                                      std::int64_t max_seq_len, double eps = 1e-5) {
  return post_norm(
      x, [&](const Tensor<T>& a) { return rmsnorm(a, ln1, eps); },
      [&](const Tensor<T>& a) {
        return multihead_self_attention_with_rope(a, w_q, w_k, w_v, w_o, {}, num_heads, theta,
                                                  max_seq_len);
      },
      [&](const Tensor<T>& a) { return rmsnorm(a, ln2, eps); },
      [&](const Tensor<T>& a) { return ffn_swiglu(a, w1, w2, w3); });
}

/// Pre-norm Transformer block of the 2024 edition, without RoPE and with GELU:
///   y   = x + multihead_self_attention(rmsnorm(x, ln1))
///   out = y + ffn_gelu(rmsnorm(y, ln2))
template <class T>
Tensor<T> transformer_block_gelu(const Tensor<T>& x, const Tensor<T>& ln1, const Tensor<T>& w_q,
                                 const Tensor<T>& w_k, const Tensor<T>& w_v, const Tensor<T>& w_o,
                                 const Tensor<T>& ln2, const Tensor<T>& w1, const Tensor<T>& w2,
                                 std::int64_t num_heads, double eps = 1e-5) {
  return pre_norm(
      x, [&](const Tensor<T>& a) { return rmsnorm(a, ln1, eps); },
      [&](const Tensor<T>& a) {
        return multihead_self_attention(a, w_q, w_k, w_v, w_o, num_heads);
      },
      [&](const Tensor<T>& a) { return rmsnorm(a, ln2, eps); },
      [&](const Tensor<T>& a) { return ffn_gelu(a, w1, w2); });
}

}  // namespace prenorm::fast
