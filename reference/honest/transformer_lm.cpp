// Honest variants of the language model.
#include "../fast/transformer_lm.hpp"
#include "transformer_block.hpp"

namespace prenorm::honest {

template <class Softmax, class T>
Wide<T> language_model(const Tensor<std::int64_t>& token_ids, const Wide<T>& token_embeddings,
                       const Wide<T>& ln1, const Wide<T>& w_q, const Wide<T>& w_k,
                       const Wide<T>& w_v, const Wide<T>& w_o, const Wide<T>& ln2,
                       const Wide<T>& w1, const Wide<T>& w2, const Wide<T>& w3,
                       const Wide<T>& ln_final, const Wide<T>& lm_head, std::int64_t num_heads,
                       double theta, std::int64_t max_seq_len, double eps) {
  using C = compute_t<T>;
  Wide<T> x = fast::embedding<C>(token_ids, token_embeddings);
  for (std::size_t i = 0; i < ln1.shape(0); ++i) {
    const auto of = [i](const Wide<T>& stacked) { return fast::of_layer<C>(stacked, i); };
    x = rounded<T>(block<Softmax, T>(x, of(ln1), of(w_q), of(w_k), of(w_v), of(w_o), of(ln2),
                                     of(w1), of(w2), of(w3), num_heads, theta, max_seq_len, eps));
  }
  return fast::linear<C>(norm<T>(x, ln_final, eps), lm_head);
}

}  // namespace prenorm::honest

using namespace prenorm;
using namespace prenorm::honest;

PRENORM_COMPILED_IN_PLAIN(embedding)
PRENORM_COMPILED_IN_PLAIN(linear)
PRENORM_COMPILED_IN_PLAIN(rmsnorm)
ALL_SOFTMAX_INSTANCES(extern template, prenorm::honest::block)

EXPORT_SOFTMAXES(transformer_lm, language_model)
