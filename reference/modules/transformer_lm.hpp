// TransformerLM: the language model from modules. Its parameters have the names of PyTorch's state
// dict.
#pragma once

#include "../transformer_lm.hpp"
#include "embedding.hpp"
#include "transformer_block.hpp"

namespace prenorm::reference {

/// transformer_lm with its own modules. All layers share one table of rotations.
template <class T>
class TransformerLM {
 public:
  Embedding<T> token_embeddings;
  std::vector<TransformerBlock<T>> layers;
  RMSNorm<T> ln_final;
  Linear<T> lm_head;

  TransformerLM(std::int64_t vocab_size, std::int64_t context_length, std::int64_t d_model,
                std::int64_t num_layers, std::int64_t num_heads, std::int64_t d_ff,
                Seed seed = Seed(0), double rope_theta = 10000, double eps = 1e-5)
      : token_embeddings(vocab_size, d_model, seed.of("token_embeddings")),
        ln_final(d_model, seed.of("ln_final"), eps),
        lm_head(d_model, vocab_size, seed.of("lm_head")) {
    require(num_layers >= 0, "TransformerLM: num_layers must not be negative, is ", num_layers);
    const auto d_k = head_width(static_cast<std::size_t>(d_model), num_heads);
    const RotaryPositionalEmbedding rope(rope_theta, static_cast<std::int64_t>(d_k),
                                         context_length);
    layers.reserve(static_cast<std::size_t>(num_layers));
    for (std::int64_t i = 0; i < num_layers; ++i) {
      const Seed own = seed.of("layers." + std::to_string(i));
      layers.emplace_back(d_model, num_heads, d_ff, rope, own, eps);
    }
  }

  void reset_parameters(Seed seed) { reset_parts(*this, seed); }

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
