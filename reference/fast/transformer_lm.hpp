// The Transformer language model: token embedding, pre-norm blocks, a final norm, the head.
// Contracts: reference/transformer_lm.hpp
#pragma once

#include "embedding.hpp"
#include "transformer_block.hpp"

namespace prenorm::fast {

/// The parameters of one layer, where those of all layers are stacked: not a copy.
template <class T>
Tensor<T> of_layer(const Tensor<T>& stacked, std::size_t layer) {
  const Shape shape(stacked.shape().begin() + 1, stacked.shape().end());
  return tensor_at(stacked.data() + layer * stacked.size() / stacked.shape(0), shape);
}

/// Transformer language model:
///   x = embedding(token_ids);  for each layer x = transformer_block(x);
///   y = linear(rmsnorm(x, ln_final), lm_head),  logits without a softmax
///
/// Shapes   token_ids[..., seq]: int64, token_embeddings[vocab_size, d_model], the parameters of a
///          transformer_block stacked [num_layers, ...], ln_final[d_model],
///          lm_head[vocab_size, d_model] -> y[..., seq, vocab_size]
template <class T>
Tensor<T> transformer_lm(const Tensor<std::int64_t>& token_ids, const Tensor<T>& token_embeddings,
                         const Tensor<T>& ln1, const Tensor<T>& w_q, const Tensor<T>& w_k,
                         const Tensor<T>& w_v, const Tensor<T>& w_o, const Tensor<T>& ln2,
                         const Tensor<T>& w1, const Tensor<T>& w2, const Tensor<T>& w3,
                         const Tensor<T>& ln_final, const Tensor<T>& lm_head,
                         std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                         double eps = 1e-5) {
  require(token_ids.dimension() >= 1, "transformer_lm: token_ids must be [..., seq]");
  require(ln1.dimension() == 2, "transformer_lm: ln1 must be [num_layers, d_model], is ",
          ln1.shape());
  const std::size_t num_layers = ln1.shape(0);
  for (const Tensor<T>* stacked : {&w_q, &w_k, &w_v, &w_o, &ln2, &w1, &w2, &w3}) {
    require(stacked->dimension() >= 2 && stacked->shape(0) == num_layers,
            "transformer_lm: every parameter of the layers must be [", num_layers,
            ", ...], one is ", stacked->shape());
  }
  // step: embedding
  Tensor<T> x = embedding(token_ids, token_embeddings);
  // step: blocks
  for (std::size_t i = 0; i < num_layers; ++i) {
    x = transformer_block(x, of_layer(ln1, i), of_layer(w_q, i), of_layer(w_k, i), of_layer(w_v, i),
                          of_layer(w_o, i), of_layer(ln2, i), of_layer(w1, i), of_layer(w2, i),
                          of_layer(w3, i), num_heads, theta, max_seq_len, eps);
  }
  // step: final norm, head
  return linear(rmsnorm(x, ln_final, eps), lm_head);
}

}  // namespace prenorm::fast
