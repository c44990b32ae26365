// Honest variants of the blocks.
#pragma once

#include "../fast/feed_forward.hpp"
#include "../fast/rmsnorm.hpp"
#include "multihead_self_attention.hpp"

namespace prenorm::honest {

// The results of the parts are rounded to T, as in the reference; within the network nothing is.

template <class T>
Tensor<compute_t<T>> norm(const Tensor<compute_t<T>>& x, const Tensor<compute_t<T>>& weight,
                          double eps) {
  return rounded<T>(fast::rmsnorm<compute_t<T>>(x, weight, eps));
}

/// y = x + attention(norm(x)), y + network(norm(y))
template <class T, class Attention, class Network>
Wide<T> pre_norm(const Wide<T>& x, const Wide<T>& ln1, const Wide<T>& ln2, double eps,
                 Attention attention, Network network) {
  const Wide<T> y = rounded<T>(Wide<T>(x + rounded<T>(attention(norm<T>(x, ln1, eps)))));
  return y + rounded<T>(network(norm<T>(y, ln2, eps)));
}

template <class Softmax, class T>
Wide<T> block(const Wide<T>& x, const Wide<T>& ln1, const Wide<T>& w_q, const Wide<T>& w_k,
              const Wide<T>& w_v, const Wide<T>& w_o, const Wide<T>& ln2, const Wide<T>& w1,
              const Wide<T>& w2, const Wide<T>& w3, std::int64_t num_heads, double theta,
              std::int64_t max_seq_len, double eps) {
  return pre_norm<T>(
      x, ln1, ln2, eps,
      [&](const Wide<T>& a) {
        return multihead_with_rope<Softmax, T>(a, w_q, w_k, w_v, w_o, std::nullopt, num_heads,
                                               theta, max_seq_len);
      },
      [&](const Wide<T>& a) { return fast::ffn_swiglu<compute_t<T>>(a, w1, w2, w3); });
}

template <class Softmax, class T>
Wide<T> gelu_block(const Wide<T>& x, const Wide<T>& ln1, const Wide<T>& w_q, const Wide<T>& w_k,
                   const Wide<T>& w_v, const Wide<T>& w_o, const Wide<T>& ln2, const Wide<T>& w1,
                   const Wide<T>& w2, std::int64_t num_heads, double eps) {
  return pre_norm<T>(
      x, ln1, ln2, eps,
      [&](const Wide<T>& a) { return multihead<Softmax, T>(a, w_q, w_k, w_v, w_o, num_heads); },
      [&](const Wide<T>& a) { return fast::ffn_gelu<compute_t<T>>(a, w1, w2); });
}

/// y = norm(x + attention(x)), norm(y + network(y))
template <class Softmax, class T>
Wide<T> post_norm_block(const Wide<T>& x, const Wide<T>& ln1, const Wide<T>& w_q,
                        const Wide<T>& w_k, const Wide<T>& w_v, const Wide<T>& w_o,
                        const Wide<T>& ln2, const Wide<T>& w1, const Wide<T>& w2, const Wide<T>& w3,
                        std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                        double eps) {
  const Wide<T> attended = rounded<T>(multihead_with_rope<Softmax, T>(
      x, w_q, w_k, w_v, w_o, std::nullopt, num_heads, theta, max_seq_len));
  const Wide<T> y = norm<T>(rounded<T>(Wide<T>(x + attended)), ln1, eps);
  const Wide<T> network = rounded<T>(fast::ffn_swiglu<compute_t<T>>(y, w1, w2, w3));
  return fast::rmsnorm<compute_t<T>>(rounded<T>(Wide<T>(y + network)), ln2, eps);
}

}  // namespace prenorm::honest
