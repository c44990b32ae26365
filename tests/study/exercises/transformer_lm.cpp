#include <transformer_lm.hpp>
using prenorm::reference::embedding, prenorm::reference::linear, prenorm::reference::rmsnorm,
    prenorm::reference::transformer_block;

Tensor transformer_lm(const Integers& token_ids, const Tensor& token_embeddings, const Tensor& ln1,
                      const Tensor& w_q, const Tensor& w_k, const Tensor& w_v, const Tensor& w_o,
                      const Tensor& ln2, const Tensor& w1, const Tensor& w2, const Tensor& w3,
                      const Tensor& ln_final, const Tensor& lm_head, std::int64_t num_heads,
                      double theta, std::int64_t max_seq_len, double eps) {
  const auto block = [&](const Tensor& x, std::size_t i) {  // layer i
    const auto of = [i](const Tensor& stacked) { return Tensor(xt::view(stacked, i)); };
    const prenorm::reference::BlockWeights<float> weights{
        of(ln1), {of(w_q), of(w_k), of(w_v), of(w_o)}, of(ln2), {of(w1), of(w2), of(w3)}};
    return transformer_block(x, weights, num_heads, theta, max_seq_len, eps);
  };
  Tensor x = embedding(token_ids, token_embeddings);
  for (std::size_t i = 0; i < ln1.shape(0); ++i) x = block(x, i);
  return linear(rmsnorm(x, ln_final, eps), lm_head);
}
