// The Transformer language model: token embedding, pre-norm blocks, a final norm, the head.
#pragma once

#include "embedding.hpp"
#include "transformer_block.hpp"

namespace prenorm::reference {

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
/// Source   CS336 2025, section 3.1 and figure 1; the norm after the last block is its "final norm"
/// Shapes   token_ids[..., seq]: int64, token_embeddings[vocab_size, d_model], the parameters of a
///          transformer_block stacked [num_layers, ...], ln_final[d_model],
///          lm_head[vocab_size, d_model] -> y[..., seq, vocab_size]
/// Types    any T; in 16-bit types each part rounds as it does alone
/// Errors   those of its parts, and std::invalid_argument if token_ids has no axis seq, or the
///          stacked parameters differ in num_layers
/// Twins    cuda/transformer_lm.cu  fixtures/transformer_lm.h5
///          tests/reference/test_transformer_lm.cpp
///          notebooks/transformer_lm.ipynb
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

/// The module: transformer_lm with its own modules. All layers share one table of rotations.
template <class T>
class TransformerLM {
 public:
  Embedding<T> token_embeddings;
  std::vector<TransformerBlock<T>> layers;
  RMSNorm<T> ln_final;
  Linear<T> lm_head;

  TransformerLM(std::int64_t vocab_size, std::int64_t context_length, std::int64_t d_model,
                std::int64_t num_layers, std::int64_t num_heads, std::int64_t d_ff,
                double rope_theta = 10000, double eps = 1e-5, std::uint64_t seed = 0)
      : token_embeddings(vocab_size, d_model),
        ln_final(d_model, eps),
        lm_head(d_model, vocab_size) {
    require(num_layers >= 0, "TransformerLM: num_layers must not be negative, is ", num_layers);
    const auto d_k = head_width(static_cast<std::size_t>(d_model), num_heads);
    const RotaryPositionalEmbedding rope(rope_theta, static_cast<std::int64_t>(d_k),
                                         context_length);
    layers.reserve(static_cast<std::size_t>(num_layers));
    for (std::int64_t i = 0; i < num_layers; ++i) {
      layers.emplace_back(d_model, num_heads, d_ff, rope, eps);
    }
    reset_parameters(seed);
  }

  void reset_parameters(std::uint64_t seed) { reset_parts(*this, seed); }

  /// token_ids[..., seq] -> logits[..., seq, vocab_size]
  Tensor<T> operator()(const Tensor<std::int64_t>& token_ids) const {
    Tensor<T> x = token_embeddings(token_ids);
    for (const TransformerBlock<T>& layer : layers) x = layer(x);
    return lm_head(ln_final(x));
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("token_embeddings", self.token_embeddings);
    for (std::size_t i = 0; i < self.layers.size(); ++i) {
      visit("layers." + std::to_string(i), self.layers[i]);
    }
    visit("ln_final", self.ln_final);
    visit("lm_head", self.lm_head);
  }

  std::string description() const { return describe_parts(*this, "TransformerLM"); }
};

}  // namespace prenorm::reference
