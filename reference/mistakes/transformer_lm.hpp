// Known mistakes of reference/transformer_lm.hpp.
#pragma once

#include "../fast/transformer_lm.hpp"
#include "embedding.hpp"
#include "softmax.hpp"
#include "transformer_block.hpp"

namespace prenorm::mistakes::transformer_lm {

/// The layer whose weights layer i has.
using Weights = std::size_t (*)(std::size_t i, std::size_t num_layers);
inline std::size_t its_own(std::size_t i, std::size_t) { return i; }

/// The steps of a model, with those of all its blocks; the defaults are right.
struct Steps : transformer_block::Steps {
  linear::Steps head;
  bool zeros_nan = false;  // in embeddings
  bool scales_embeddings = false;
  std::size_t layers_left_out = 0;  // the last ones
  Weights weights = its_own;
  std::size_t layers_after_norm = 0;
  bool norms = true;  // after the last block
  std::optional<double> last_eps = std::nullopt;
  bool head_of_embeddings = false;
  bool ends_in_softmax = false;

  bool operator==(const Steps&) const = default;
};

inline Wide transformer_lm(const Steps& steps, const Element& t,
                           const Tensor<std::int64_t>& token_ids, const Wide& token_embeddings,
                           const Wide& ln1, const Wide& w_q, const Wide& w_k, const Wide& w_v,
                           const Wide& w_o, const Wide& ln2, const Wide& w1, const Wide& w2,
                           const Wide& w3, const Wide& ln_final, const Wide& lm_head,
                           std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                           double eps) {
  // step: embedding
  Wide x = fast::embedding<double>(token_ids, token_embeddings);
  if (steps.zeros_nan) x = Wide(xt::where(xt::isnan(x), 0.0, x));
  if (steps.scales_embeddings) x *= std::sqrt(static_cast<double>(token_embeddings.shape(1)));

  // step: final norm
  const auto norm = [&] {
    if (steps.norms) {
      x = rmsnorm::rmsnorm(steps, t, x, ln_final, steps.last_eps.value_or(eps));
    }
  };
  // step: blocks
  const std::size_t num_layers = ln1.shape(0);
  const std::size_t layers = num_layers - std::min(num_layers, steps.layers_left_out);
  const std::size_t before_norm = layers - std::min(layers, steps.layers_after_norm);
  for (std::size_t i = 0; i < layers; ++i) {
    if (i == before_norm) norm();  // step: final norm
    const auto of = [&](const Wide& all) {
      return fast::of_layer<double>(all, steps.weights(i, num_layers));
    };
    x = transformer_block::transformer_block(steps, t, x, of(ln1), of(w_q), of(w_k), of(w_v),
                                             of(w_o), of(ln2), of(w1), of(w2), of(w3), num_heads,
                                             theta, max_seq_len, eps);
  }
  // step: final norm
  if (before_norm == layers && steps.layers_after_norm == 0) norm();
  // step: head
  const Wide y =
      linear::linear(steps.head, t, x, steps.head_of_embeddings ? token_embeddings : lm_head);
  return steps.ends_in_softmax ? fast::softmax<double>(y, -1) : y;
}

inline void no_final_norm(Steps& steps) { steps.norms = false; }
inline void norm_before_last_block(Steps& steps) { steps.layers_after_norm = 1; }
inline void tied_head(Steps& steps) { steps.head_of_embeddings = true; }
inline void softmax_at_the_end(Steps& steps) { steps.ends_in_softmax = true; }

/// The first layer's weights in every layer.
inline void first_layer_for_all(Steps& steps) {
  steps.weights = [](std::size_t, std::size_t) { return std::size_t{0}; };
}
inline void layers_reversed(Steps& steps) {
  steps.weights = [](std::size_t i, std::size_t num_layers) { return num_layers - 1 - i; };
}
inline void last_layer_left_out(Steps& steps) { steps.layers_left_out = 1; }

/// NaN in an embedding taken for 0.
inline void nan_embeddings_are_0(Steps& steps) { steps.zeros_nan = true; }

/// Embeddings times the root of d_model, as in Vaswani et al. 2017, section 3.4.
inline void embeddings_scaled(Steps& steps) { steps.scales_embeddings = true; }

/// The last norm with an eps of the author's own.
inline void last_eps_fixed(Steps& steps) { steps.last_eps = 1e-5; }

/// Every sum rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  transformer_block::sums_in_t(steps, t);
  linear::sums_in_t(steps.head, t);
}

}  // namespace prenorm::mistakes::transformer_lm
