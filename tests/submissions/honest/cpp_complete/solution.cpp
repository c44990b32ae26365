// All problems, in plain loops: each sum has one accumulator, in float (double for float64), and
// what is stored is rounded once. Slow and easy to read.
#include "attention.hpp"

template <class T>
Tensor<T> transformer_block(const Tensor<T>& x, const Tensor<T>& ln1, const Tensor<T>& w_q,
                            const Tensor<T>& w_k, const Tensor<T>& w_v, const Tensor<T>& w_o,
                            const Tensor<T>& ln2, const Tensor<T>& w1, const Tensor<T>& w2,
                            const Tensor<T>& w3, Size num_heads, double theta, Size max_seq_len,
                            double eps) {
  const Tensor<T> y =
      sum(x, multihead_self_attention_with_rope(rmsnorm(x, ln1, eps), w_q, w_k, w_v, w_o, {},
                                                num_heads, theta, max_seq_len));
  return sum(y, ffn_swiglu(rmsnorm(y, ln2, eps), w1, w2, w3));
}

template <class T>
Tensor<T> transformer_block_post_norm(const Tensor<T>& x, const Tensor<T>& ln1,
                                      const Tensor<T>& w_q, const Tensor<T>& w_k,
                                      const Tensor<T>& w_v, const Tensor<T>& w_o,
                                      const Tensor<T>& ln2, const Tensor<T>& w1,
                                      const Tensor<T>& w2, const Tensor<T>& w3, Size num_heads,
                                      double theta, Size max_seq_len, double eps) {
  const Tensor<T> y = rmsnorm(sum(x, multihead_self_attention_with_rope(
                                         x, w_q, w_k, w_v, w_o, {}, num_heads, theta, max_seq_len)),
                              ln1, eps);
  return rmsnorm(sum(y, ffn_swiglu(y, w1, w2, w3)), ln2, eps);
}

template <class T>
Tensor<T> transformer_block_gelu(const Tensor<T>& x, const Tensor<T>& ln1, const Tensor<T>& w_q,
                                 const Tensor<T>& w_k, const Tensor<T>& w_v, const Tensor<T>& w_o,
                                 const Tensor<T>& ln2, const Tensor<T>& w1, const Tensor<T>& w2,
                                 Size num_heads, double eps) {
  const Tensor<T> y =
      sum(x, multihead_self_attention(rmsnorm(x, ln1, eps), w_q, w_k, w_v, w_o, num_heads));
  return sum(y, ffn_gelu(rmsnorm(y, ln2, eps), w1, w2));
}

/// Layer i of parameters that are stacked.
template <class T>
Tensor<T> layer(const Tensor<T>& stacked, Size i) {
  Tensor<T> one(std::vector<Size>(stacked.shape().begin() + 1, stacked.shape().end()));
  std::copy_n(stacked.data() + i * one.size(), one.size(), one.data());
  return one;
}

template <class T>
Tensor<T> transformer_lm(const Tensor<std::int64_t>& token_ids, const Tensor<T>& token_embeddings,
                         const Tensor<T>& ln1, const Tensor<T>& w_q, const Tensor<T>& w_k,
                         const Tensor<T>& w_v, const Tensor<T>& w_o, const Tensor<T>& ln2,
                         const Tensor<T>& w1, const Tensor<T>& w2, const Tensor<T>& w3,
                         const Tensor<T>& ln_final, const Tensor<T>& lm_head, Size num_heads,
                         double theta, Size max_seq_len, double eps) {
  Tensor<T> x = embedding(token_ids, token_embeddings);
  for (Size i = 0; i < ln1.last(2); ++i) {
    x = transformer_block(x, layer(ln1, i), layer(w_q, i), layer(w_k, i), layer(w_v, i),
                          layer(w_o, i), layer(ln2, i), layer(w1, i), layer(w2, i), layer(w3, i),
                          num_heads, theta, max_seq_len, eps);
  }
  return linear(rmsnorm(x, ln_final, eps), lm_head);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(linear, linear)
PRENORM_EXPORT(embedding, embedding)
PRENORM_EXPORT(rmsnorm, rmsnorm)
PRENORM_EXPORT(relu, relu)
PRENORM_EXPORT(silu, silu)
PRENORM_EXPORT(gelu, gelu)
PRENORM_EXPORT(glu, glu)
PRENORM_EXPORT(ffn_relu, ffn_relu)
PRENORM_EXPORT(ffn_silu, ffn_silu)
PRENORM_EXPORT(ffn_gelu, ffn_gelu)
PRENORM_EXPORT(ffn_swiglu, ffn_swiglu)
PRENORM_EXPORT(softmax, softmax)
PRENORM_EXPORT(rope, rope)
PRENORM_EXPORT(scaled_dot_product_attention, scaled_dot_product_attention)
PRENORM_EXPORT(multihead_self_attention, multihead_self_attention)
PRENORM_EXPORT(multihead_self_attention_with_rope, multihead_self_attention_with_rope)
PRENORM_EXPORT(multihead_self_attention_fused_qkv, multihead_self_attention_fused_qkv)
PRENORM_EXPORT(transformer_block, transformer_block)
PRENORM_EXPORT(transformer_block_gelu, transformer_block_gelu)
PRENORM_EXPORT(transformer_block_post_norm, transformer_block_post_norm)
PRENORM_EXPORT(transformer_lm, transformer_lm)
