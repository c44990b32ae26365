// The Transformer language model: token embedding, pre-norm blocks, a final norm, the head.
#pragma once

#include "embedding.hpp"
#include "transformer_block.hpp"

namespace prenorm::reference {

/// The parameters of a language model, under the names that PyTorch's state dict has for them.
template <class T>
struct LMWeights {
  Tensor<T> token_embeddings;  // [vocab_size, d_model]
  std::vector<BlockWeights<T>> layers;
  Tensor<T> ln_final;  // [d_model]
  Tensor<T> lm_head;   // [vocab_size, d_model]
};

/// Transformer language model:
///   x = embedding(token_ids);  for each layer x = transformer_block(x);
///   y = linear(rmsnorm(x, ln_final), lm_head),  logits without a softmax
///
/// Source   CS336 2025, section 3.1 and figure 1; the norm after the last block is its "final norm"
/// Shapes   token_ids[..., seq]: int64, the parameters as LMWeights says -> y[..., seq, vocab_size]
/// Types    any T; in 16-bit types each part rounds as it does alone
/// Errors   those of its parts, and std::invalid_argument if token_ids has no axis seq
/// Twins    cuda/transformer_lm.cu  fixtures/transformer_lm.h5
///          tests/reference/test_transformer_lm.cpp
///          notebooks/transformer_lm.ipynb
template <class T>
Tensor<T> transformer_lm(const Tensor<std::int64_t>& token_ids, const LMWeights<T>& weights,
                         std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                         double eps = 1e-5) {
  require(token_ids.dimension() >= 1, "transformer_lm: token_ids must be [..., seq]");
  // step: embedding
  Tensor<T> x = embedding(token_ids, weights.token_embeddings);
  // step: blocks
  for (const BlockWeights<T>& layer : weights.layers) {
    x = transformer_block(x, layer, num_heads, theta, max_seq_len, eps);
  }
  // step: final norm, head
  return linear(rmsnorm(x, weights.ln_final, eps), weights.lm_head);
}

}  // namespace prenorm::reference
