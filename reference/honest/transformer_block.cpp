// Honest variants of the pre-norm block.
#include "../feed_forward.hpp"
#include "../rmsnorm.hpp"
#include "multihead_self_attention.hpp"

namespace prenorm::honest {

template <class Softmax, class T>
Wide<T> block(const Wide<T>& x, const Wide<T>& ln1, const Wide<T>& w_q, const Wide<T>& w_k,
              const Wide<T>& w_v, const Wide<T>& w_o, const Wide<T>& ln2, const Wide<T>& w1,
              const Wide<T>& w2, const Wide<T>& w3, std::int64_t num_heads, double theta,
              std::int64_t max_seq_len, double eps) {
  using C = compute_t<T>;
  const Tensor<C> normed = rounded<T>(reference::rmsnorm<C>(x, ln1, eps));
  const Tensor<C> attended = rounded<T, C>(multihead_with_rope<Softmax, T>(
      normed, w_q, w_k, w_v, w_o, std::nullopt, num_heads, theta, max_seq_len));
  const Tensor<C> y = rounded<T, C>(x + attended);
  return y + reference::ffn_swiglu<C>(reference::rmsnorm<C>(y, ln2, eps), w1, w2, w3);
}

}  // namespace prenorm::honest

using namespace prenorm;
using namespace prenorm::honest;

PRENORM_COMPILED_IN_PLAIN(rmsnorm)
PRENORM_COMPILED_IN_PLAIN(ffn_swiglu)
ALL_SOFTMAX_INSTANCES(extern template, prenorm::honest::multihead_with_rope)

EXPORT_SOFTMAXES(transformer_block, block)
