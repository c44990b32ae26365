// Known mistakes of reference/transformer_lm.hpp.
#pragma once

#include "../softmax.hpp"
#include "../transformer_lm.hpp"
#include "transformer_block.hpp"

namespace prenorm::mistakes::transformer_lm {

/// The parts of a model, their weights bound.
struct Model {
  Tensor<double> embedded;  // the rows of the tokens
  std::size_t num_layers;
  std::function<Tensor<double>(const Tensor<double>&, std::size_t layer)> block;
  std::function<Tensor<double>(const Tensor<double>&)> norm, head, tied_head;
  std::function<Tensor<double>(const Tensor<double>&, double eps)> norm_by;
  double width;  // d_model

  /// The stream after layers first, ..., last - 1.
  Tensor<double> stack(Tensor<double> x, std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < last; ++i) x = block(x, i);
    return x;
  }
};

// How models are assembled; the right one is
//   head(norm(stack(embedded)))

inline Wide right(const Model& m) { return m.head(m.norm(m.stack(m.embedded, 0, m.num_layers))); }
inline Wide no_final_norm(const Model& m) { return m.head(m.stack(m.embedded, 0, m.num_layers)); }
inline Wide norm_before_last_block(const Model& m) {
  if (m.num_layers == 0) return m.head(m.embedded);
  const std::size_t last = m.num_layers - 1;
  return m.head(m.stack(m.norm(m.stack(m.embedded, 0, last)), last, m.num_layers));
}
inline Wide tied_head(const Model& m) {
  return m.tied_head(m.norm(m.stack(m.embedded, 0, m.num_layers)));
}
inline Wide softmax_at_the_end(const Model& m) { return reference::softmax<double>(right(m), -1); }
/// The first layer's weights in every layer.
inline Wide first_layer_for_all(const Model& m) {
  Tensor<double> x = m.embedded;
  for (std::size_t i = 0; i < m.num_layers; ++i) x = m.block(x, 0);
  return m.head(m.norm(x));
}
inline Wide layers_reversed(const Model& m) {
  Tensor<double> x = m.embedded;
  for (std::size_t i = m.num_layers; i-- > 0;) x = m.block(x, i);
  return m.head(m.norm(x));
}
inline Wide last_layer_left_out(const Model& m) {
  return m.head(m.norm(m.stack(m.embedded, 0, m.num_layers - (m.num_layers > 0))));
}
/// NaN in an embedding taken for 0.
inline Wide nan_embeddings_are_0(const Model& m) {
  const Tensor<double> x = xt::where(xt::isnan(m.embedded), 0.0, m.embedded);
  return m.head(m.norm(m.stack(x, 0, m.num_layers)));
}
/// Embeddings times the root of d_model, as in Vaswani et al. 2017, section 3.4.
inline Wide embeddings_scaled(const Model& m) {
  return m.head(m.norm(m.stack(m.embedded * std::sqrt(m.width), 0, m.num_layers)));
}

/// The last norm with an eps of the author's own.
inline Wide last_eps_fixed(const Model& m) {
  return m.head(m.norm_by(m.stack(m.embedded, 0, m.num_layers), 1e-5));
}

using Assembly = Wide (*)(const Model&);
using BlockFunction = Wide (*)(const Wide&, const Wide&, const Wide&, const Wide&, const Wide&,
                               const Wide&, const Wide&, const Wide&, const Wide&, const Wide&,
                               std::int64_t, double, std::int64_t, double);

inline Wide right_block(const Wide& x, const Wide& ln1, const Wide& w_q, const Wide& w_k,
                        const Wide& w_v, const Wide& w_o, const Wide& ln2, const Wide& w1,
                        const Wide& w2, const Wide& w3, std::int64_t num_heads, double theta,
                        std::int64_t max_seq_len, double eps) {
  return reference::transformer_block<double>(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3,
                                              num_heads, theta, max_seq_len, eps);
}

// Blocks that are wrong.
inline constexpr BlockFunction blocks_theta_fixed =
    &transformer_block::block_theta_fixed<transformer_block::pre_norm>;
inline constexpr BlockFunction post_norm_blocks =
    &transformer_block::swiglu_block<transformer_block::post_norm>;
inline constexpr BlockFunction blocks_without_rope =
    &transformer_block::block_without_rope<transformer_block::pre_norm>;

/// A model with the signature of transformer_lm: wrongly assembled, or of wrong blocks.
template <Assembly assemble, BlockFunction block = right_block>
Wide model(const Tensor<std::int64_t>& token_ids, const Wide& token_embeddings, const Wide& ln1,
           const Wide& w_q, const Wide& w_k, const Wide& w_v, const Wide& w_o, const Wide& ln2,
           const Wide& w1, const Wide& w2, const Wide& w3, const Wide& ln_final,
           const Wide& lm_head, std::int64_t num_heads, double theta, std::int64_t max_seq_len,
           double eps) {
  return assemble(
      {.embedded = reference::embedding<double>(token_ids, token_embeddings),
       .num_layers = ln1.shape(0),
       .block =
           [&](const Tensor<double>& x, std::size_t i) {
             const auto of = [i](const Wide& all) { return reference::of_layer<double>(all, i); };
             return block(x, of(ln1), of(w_q), of(w_k), of(w_v), of(w_o), of(ln2), of(w1), of(w2),
                          of(w3), num_heads, theta, max_seq_len, eps);
           },
       .norm =
           [&](const Tensor<double>& x) { return reference::rmsnorm<double>(x, ln_final, eps); },
       .head = [&](const Tensor<double>& x) { return reference::linear<double>(x, lm_head); },
       .tied_head =
           [&](const Tensor<double>& x) { return reference::linear<double>(x, token_embeddings); },
       .norm_by =
           [&](const Tensor<double>& x, double another_eps) {
             return reference::rmsnorm<double>(x, ln_final, another_eps);
           },
       .width = static_cast<double>(token_embeddings.shape(1))});
}

/// Every sum rounded to T at each step.
inline Wide sums_in_t(const Element& t, const Tensor<std::int64_t>& token_ids,
                      const Wide& token_embeddings, const Wide& ln1, const Wide& w_q,
                      const Wide& w_k, const Wide& w_v, const Wide& w_o, const Wide& ln2,
                      const Wide& w1, const Wide& w2, const Wide& w3, const Wide& ln_final,
                      const Wide& lm_head, std::int64_t num_heads, double theta,
                      std::int64_t max_seq_len, double eps) {
  Tensor<double> x = reference::embedding<double>(token_ids, token_embeddings);
  for (std::size_t i = 0; i < ln1.shape(0); ++i) {
    const auto of = [i](const Wide& all) { return reference::of_layer<double>(all, i); };
    x = transformer_block::swiglu_sums_in_t<transformer_block::pre_norm>(
        t, x, of(ln1), of(w_q), of(w_k), of(w_v), of(w_o), of(ln2), of(w1), of(w2), of(w3),
        num_heads, theta, max_seq_len, eps);
  }
  return linear::sums_in_t(t, rmsnorm::with_sums_in_t(t, x, ln_final, eps), lm_head);
}

}  // namespace prenorm::mistakes::transformer_lm
