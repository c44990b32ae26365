// The Transformer block: pre-norm, post-norm for contrast, and the GELU edition.
#pragma once

#include "feed_forward.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"

namespace prenorm::reference {

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
/// Shapes   x[..., seq, d_model], ln1, ln2[d_model], w_q, w_k, w_v, w_o[d_model, d_model],
///          w1, w3[d_ff, d_model], w2[d_model, d_ff] -> y[..., seq, d_model]
/// Types    any T; 16-bit types are rounded after each norm, product, rotation and residual sum
/// Errors   those of its parts
/// Twins    cuda/transformer_block.cu  fixtures/transformer_block.h5
///          tests/test_transformer_block.cpp  notebooks/transformer_block.ipynb
template <class T>
Tensor<T> transformer_block(const Tensor<T>& x, const Tensor<T>& ln1, const Tensor<T>& w_q,
                            const Tensor<T>& w_k, const Tensor<T>& w_v, const Tensor<T>& w_o,
                            const Tensor<T>& ln2, const Tensor<T>& w1, const Tensor<T>& w2,
                            const Tensor<T>& w3, std::int64_t num_heads, double theta,
                            std::int64_t max_seq_len, double eps = 1e-5) {
  // step: first norm, attention
  const Tensor<T> y =
      plus(x, multihead_self_attention_with_rope(rmsnorm(x, ln1, eps), w_q, w_k, w_v, w_o, {},
                                                 num_heads, theta, max_seq_len));
  // step: second norm, feed-forward
  return plus(y, ffn_swiglu(rmsnorm(y, ln2, eps), w1, w2, w3));
}

/// Post-norm Transformer block, for contrast:
///   y   = rmsnorm(x + multihead_self_attention_with_rope(x), ln1)
///   out = rmsnorm(y + ffn_swiglu(y), ln2)
///
/// Source   Vaswani et al. 2017, arXiv:1706.03762, section 3.1, with RMSNorm for LayerNorm
/// Shapes, types, errors   as transformer_block
/// Twins    cuda/transformer_block.cu  fixtures/transformer_block_post_norm.h5
///          tests/test_transformer_block.cpp  notebooks/transformer_block.ipynb
template <class T>
Tensor<T> transformer_block_post_norm(const Tensor<T>& x, const Tensor<T>& ln1,
                                      const Tensor<T>& w_q, const Tensor<T>& w_k,
                                      const Tensor<T>& w_v, const Tensor<T>& w_o,
                                      const Tensor<T>& ln2, const Tensor<T>& w1,
                                      const Tensor<T>& w2, const Tensor<T>& w3,
                                      std::int64_t num_heads, double theta,
                                      std::int64_t max_seq_len, double eps = 1e-5) {
  // step: attention, first norm
  const Tensor<T> y =
      rmsnorm(plus(x, multihead_self_attention_with_rope(x, w_q, w_k, w_v, w_o, {}, num_heads,
                                                         theta, max_seq_len)),
              ln1, eps);
  // step: feed-forward, second norm
  return rmsnorm(plus(y, ffn_swiglu(y, w1, w2, w3)), ln2, eps);
}

/// Pre-norm Transformer block of the 2024 edition, without RoPE and with GELU:
///   y   = x + multihead_self_attention(rmsnorm(x, ln1))
///   out = y + ffn_gelu(rmsnorm(y, ln2))
///
/// Source   CS336 2024, section 3.4
/// Shapes   as transformer_block, without w3
/// Types, errors   as transformer_block
/// Twins    cuda/transformer_block.cu  fixtures/transformer_block_gelu.h5
///          tests/test_transformer_block.cpp  notebooks/transformer_block.ipynb
template <class T>
Tensor<T> transformer_block_gelu(const Tensor<T>& x, const Tensor<T>& ln1, const Tensor<T>& w_q,
                                 const Tensor<T>& w_k, const Tensor<T>& w_v, const Tensor<T>& w_o,
                                 const Tensor<T>& ln2, const Tensor<T>& w1, const Tensor<T>& w2,
                                 std::int64_t num_heads, double eps = 1e-5) {
  // step: first norm, attention
  const Tensor<T> y =
      plus(x, multihead_self_attention(rmsnorm(x, ln1, eps), w_q, w_k, w_v, w_o, num_heads));
  // step: second norm, feed-forward
  return plus(y, ffn_gelu(rmsnorm(y, ln2, eps), w1, w2));
}

/// The module: transformer_block, the pre-norm block, with its own modules. Blocks that get copies
/// of one RotaryPositionalEmbedding share its table.
template <class T>
class TransformerBlock {
 public:
  RMSNorm<T> ln1;
  CausalMultiHeadSelfAttention<T> attn;
  RMSNorm<T> ln2;
  SwiGLU<T> ffn;

  TransformerBlock(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_ff,
                   RotaryPositionalEmbedding rope, double eps = 1e-5)
      : ln1(d_model, eps),
        attn(d_model, num_heads, std::move(rope)),
        ln2(d_model, eps),
        ffn(d_model, d_ff) {
    reset_parameters(0);
  }

  void reset_parameters(std::uint64_t seed) { reset_parts(*this, seed); }

  /// x[..., seq, d_model], token_positions[..., seq], by default 0, 1, ... -> y[..., seq, d_model]
  Tensor<T> operator()(
      const Tensor<T>& x,
      const std::optional<Tensor<std::int64_t>>& token_positions = std::nullopt) const {
    const Tensor<T> y = plus(x, attn(ln1(x), token_positions));
    return plus(y, ffn(ln2(y)));
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("ln1", self.ln1);
    visit("attn", self.attn);
    visit("ln2", self.ln2);
    visit("ffn", self.ffn);
  }

  std::string description() const { return describe_parts(*this, "TransformerBlock"); }
};

}  // namespace prenorm::reference
