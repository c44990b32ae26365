#include <feed_forward.hpp>
#include <multihead_self_attention.hpp>
#include <rmsnorm.hpp>
using prenorm::reference::ffn_swiglu, prenorm::reference::rmsnorm;

Tensor transformer_block(const Tensor& x, const Tensor& ln1, const Tensor& w_q, const Tensor& w_k,
                         const Tensor& w_v, const Tensor& w_o, const Tensor& ln2, const Tensor& w1,
                         const Tensor& w2, const Tensor& w3, std::int64_t num_heads, double theta,
                         std::int64_t max_seq_len, double eps) {
  const auto attention = [&](const Tensor& t) {
    return prenorm::reference::multihead_self_attention_with_rope(t, w_q, w_k, w_v, w_o, {},
                                                                  num_heads, theta, max_seq_len);
  };
  const Tensor y = x + attention(rmsnorm(x, ln1, eps));
  return y + ffn_swiglu(rmsnorm(y, ln2, eps), w1, w2, w3);
}
