// The Transformer block.
//
//   transformer_block             pre-norm, with RoPE and SwiGLU
//   transformer_block_post_norm   the same in post-norm order, for contrast
//   transformer_block_gelu        the 2024 edition: pre-norm, without RoPE, with GELU
#pragma once

#include "feed_forward.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"

namespace prenorm::reference {

template <class T>
struct SwiGLUWeights {
  Tensor<T> w1, w2, w3;  // [d_ff, d_model], [d_model, d_ff], [d_ff, d_model]
};
template <class T>
struct GELUWeights {
  Tensor<T> w1, w2;  // [d_ff, d_model], [d_model, d_ff]
};

/// The parameters of a block, under the names that PyTorch's state dict has for them.
template <class T, template <class> class FFNWeights = SwiGLUWeights>
struct BlockWeights {
  Tensor<T> ln1;  // [d_model]
  struct {
    Tensor<T> q_proj, k_proj, v_proj, output_proj;  // [d_model, d_model]
  } attn;
  Tensor<T> ln2;  // [d_model]
  FFNWeights<T> ffn;
};

/// The residual sum of two tensors of the same shape.
template <class T>
Tensor<T> plus(const Tensor<T>& a, const Tensor<T>& b) {
  require_same_shape(a, b, "the terms of a residual sum");
  // step: residual sum
  return narrow<T>(widen(a) + widen(b));
}

/// Pre-norm Transformer block:
///   y   = x + multihead_self_attention_with_rope(rmsnorm(x, ln1))
///   out = y + ffn_swiglu(rmsnorm(y, ln2))
///
/// Source   Xiong et al. 2020, arXiv:2002.04745, figure 1(b); CS336 2025, section 3.5
/// Shapes   x[..., seq, d_model], the parameters as BlockWeights says -> y[..., seq, d_model]
/// Types    any T; 16-bit types are rounded after each norm, product, rotation and residual sum
/// Errors   those of its parts
/// Twins    cuda/transformer_block.cu  fixtures/transformer_block.h5
///          tests/reference/test_transformer_block.cpp  notebooks/transformer_block.ipynb
template <class T>
Tensor<T> transformer_block(const Tensor<T>& x, const BlockWeights<T>& weights,
                            std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                            double eps = 1e-5) {
  const auto& [ln1, attn, ln2, ffn] = weights;
  // step: first norm, attention
  const Tensor<T> y = plus(x, multihead_self_attention_with_rope(
                                  rmsnorm(x, ln1, eps), attn.q_proj, attn.k_proj, attn.v_proj,
                                  attn.output_proj, {}, num_heads, theta, max_seq_len));
  // step: second norm, feed-forward
  return plus(y, ffn_swiglu(rmsnorm(y, ln2, eps), ffn.w1, ffn.w2, ffn.w3));
}

/// Post-norm Transformer block, for contrast:
///   y   = rmsnorm(x + multihead_self_attention_with_rope(x), ln1)
///   out = rmsnorm(y + ffn_swiglu(y), ln2)
///
/// Source   Vaswani et al. 2017, arXiv:1706.03762, section 3.1, with RMSNorm for LayerNorm
/// Shapes, types, errors   as transformer_block
/// Twins    cuda/transformer_block.cu  fixtures/transformer_block_post_norm.h5
///          tests/reference/test_transformer_block.cpp  notebooks/transformer_block.ipynb
template <class T>
Tensor<T> transformer_block_post_norm(const Tensor<T>& x, const BlockWeights<T>& weights,
                                      std::int64_t num_heads, double theta,
                                      std::int64_t max_seq_len, double eps = 1e-5) {
  const auto& [ln1, attn, ln2, ffn] = weights;
  // step: attention, first norm
  const Tensor<T> attended =
      multihead_self_attention_with_rope(x, attn.q_proj, attn.k_proj, attn.v_proj, attn.output_proj,
                                         {}, num_heads, theta, max_seq_len);
  const Tensor<T> y = rmsnorm(plus(x, attended), ln1, eps);
  // step: feed-forward, second norm
  return rmsnorm(plus(y, ffn_swiglu(y, ffn.w1, ffn.w2, ffn.w3)), ln2, eps);
}

/// Pre-norm Transformer block of the 2024 edition, without RoPE and with GELU:
///   y   = x + multihead_self_attention(rmsnorm(x, ln1))
///   out = y + ffn_gelu(rmsnorm(y, ln2))
///
/// Source   CS336 2024, section 3.4
/// Shapes, types, errors   as transformer_block, without w3
/// Twins    cuda/transformer_block.cu  fixtures/transformer_block_gelu.h5
///          tests/reference/test_transformer_block.cpp  notebooks/transformer_block.ipynb
template <class T>
Tensor<T> transformer_block_gelu(const Tensor<T>& x, const BlockWeights<T, GELUWeights>& weights,
                                 std::int64_t num_heads, double eps = 1e-5) {
  const auto& [ln1, attn, ln2, ffn] = weights;
  // step: first norm, attention
  const Tensor<T> y =
      plus(x, multihead_self_attention(rmsnorm(x, ln1, eps), attn.q_proj, attn.k_proj, attn.v_proj,
                                       attn.output_proj, num_heads));
  // step: second norm, feed-forward
  return plus(y, ffn_gelu(rmsnorm(y, ln2, eps), ffn.w1, ffn.w2));
}

}  // namespace prenorm::reference
