// Known mistakes of reference/transformer_block.hpp.
#pragma once

#include "../transformer_block.hpp"
#include "feed_forward.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"

#include <functional>

namespace prenorm::mistakes::transformer_block {

/// The four sub-layers of a block, their weights bound.
struct Block {
  using Layer = std::function<Tensor<double>(const Tensor<double>&)>;
  Layer attention, feed_forward, norm1, norm2;
};

// How blocks are assembled; the right one, pre-norm, is
//   y = x + attention(norm1(x));  y + feed_forward(norm2(y))

inline Wide post_norm(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = f.norm1(x + f.attention(x));
  return f.norm2(y + f.feed_forward(y));
}
inline Wide no_first_residual(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = f.attention(f.norm1(x));
  return y + f.feed_forward(f.norm2(y));
}
inline Wide no_second_residual(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = x + f.attention(f.norm1(x));
  return f.feed_forward(f.norm2(y));
}
inline Wide residual_from_normed(const Tensor<double>& x, const Block& f) {
  const Tensor<double> normed = f.norm1(x), y = normed + f.attention(normed);
  return y + f.feed_forward(f.norm2(y));
}
inline Wide one_norm_for_both(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = x + f.attention(f.norm1(x));
  return y + f.feed_forward(f.norm1(y));
}
inline Wide ffn_of_x(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = x + f.attention(f.norm1(x));
  return y + f.feed_forward(f.norm2(x));
}
inline Wide norms_exchanged(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = x + f.attention(f.norm2(x));
  return y + f.feed_forward(f.norm1(y));
}
/// Attention and network side by side, under one norm, as GPT-J has them.
inline Wide parallel(const Tensor<double>& x, const Block& f) {
  const Tensor<double> normed = f.norm1(x);
  return x + f.attention(normed) + f.feed_forward(normed);
}
inline Wide pre_norm(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = x + f.attention(f.norm1(x));
  return y + f.feed_forward(f.norm2(y));
}

// The right post-norm block is post_norm above; its mistakes:

inline Wide post_no_first_residual(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = f.norm1(f.attention(x));
  return f.norm2(y + f.feed_forward(y));
}
inline Wide post_no_second_residual(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = f.norm1(x + f.attention(x));
  return f.norm2(f.feed_forward(y));
}
inline Wide post_one_norm_for_both(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = f.norm1(x + f.attention(x));
  return f.norm1(y + f.feed_forward(y));
}
inline Wide post_ffn_of_x(const Tensor<double>& x, const Block& f) {
  const Tensor<double> y = f.norm1(x + f.attention(x));
  return f.norm2(y + f.feed_forward(x));
}

using Assembly = Wide (*)(const Tensor<double>& x, const Block& f);

/// A block with the signature of transformer_block, assembled in a wrong way.
template <Assembly assemble>
Wide swiglu_block(const Wide& x, const Wide& ln1, const Wide& w_q, const Wide& w_k, const Wide& w_v,
                  const Wide& w_o, const Wide& ln2, const Wide& w1, const Wide& w2, const Wide& w3,
                  std::int64_t num_heads, double theta, std::int64_t max_seq_len, double eps) {
  return assemble(
      x,
      {.attention =
           [&](const Tensor<double>& a) {
             return reference::multihead_self_attention_with_rope<double>(
                 a, w_q, w_k, w_v, w_o, std::nullopt, num_heads, theta, max_seq_len);
           },
       .feed_forward =
           [&](const Tensor<double>& a) { return reference::ffn_swiglu<double>(a, w1, w2, w3); },
       .norm1 = [&](const Tensor<double>& a) { return reference::rmsnorm<double>(a, ln1, eps); },
       .norm2 = [&](const Tensor<double>& a) { return reference::rmsnorm<double>(a, ln2, eps); }});
}

/// The block without RoPE.
template <Assembly assemble>
Wide block_without_rope(const Wide& x, const Wide& ln1, const Wide& w_q, const Wide& w_k,
                        const Wide& w_v, const Wide& w_o, const Wide& ln2, const Wide& w1,
                        const Wide& w2, const Wide& w3, std::int64_t num_heads, double,
                        std::int64_t, double eps) {
  return assemble(
      x,
      {.attention =
           [&](const Tensor<double>& a) {
             return reference::multihead_self_attention<double>(a, w_q, w_k, w_v, w_o, num_heads);
           },
       .feed_forward =
           [&](const Tensor<double>& a) { return reference::ffn_swiglu<double>(a, w1, w2, w3); },
       .norm1 = [&](const Tensor<double>& a) { return reference::rmsnorm<double>(a, ln1, eps); },
       .norm2 = [&](const Tensor<double>& a) { return reference::rmsnorm<double>(a, ln2, eps); }});
}

/// An eps of the author's own instead of the caller's.
template <Assembly assemble>
Wide block_eps_fixed(const Wide& x, const Wide& ln1, const Wide& w_q, const Wide& w_k,
                     const Wide& w_v, const Wide& w_o, const Wide& ln2, const Wide& w1,
                     const Wide& w2, const Wide& w3, std::int64_t num_heads, double theta,
                     std::int64_t max_seq_len, double) {
  return swiglu_block<assemble>(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3, num_heads, theta,
                                max_seq_len, 1e-5);
}

/// Always the usual theta.
template <Assembly assemble>
Wide block_theta_fixed(const Wide& x, const Wide& ln1, const Wide& w_q, const Wide& w_k,
                       const Wide& w_v, const Wide& w_o, const Wide& ln2, const Wide& w1,
                       const Wide& w2, const Wide& w3, std::int64_t num_heads, double,
                       std::int64_t max_seq_len, double eps) {
  return swiglu_block<assemble>(x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3, num_heads, 10000,
                                max_seq_len, eps);
}

/// The same for the signature of transformer_block_gelu.
template <Assembly assemble>
Wide gelu_block(const Wide& x, const Wide& ln1, const Wide& w_q, const Wide& w_k, const Wide& w_v,
                const Wide& w_o, const Wide& ln2, const Wide& w1, const Wide& w2,
                std::int64_t num_heads, double eps) {
  return assemble(
      x,
      {.attention =
           [&](const Tensor<double>& a) {
             return reference::multihead_self_attention<double>(a, w_q, w_k, w_v, w_o, num_heads);
           },
       .feed_forward =
           [&](const Tensor<double>& a) { return reference::ffn_gelu<double>(a, w1, w2); },
       .norm1 = [&](const Tensor<double>& a) { return reference::rmsnorm<double>(a, ln1, eps); },
       .norm2 = [&](const Tensor<double>& a) { return reference::rmsnorm<double>(a, ln2, eps); }});
}

/// Every sum of every sub-layer rounded to T at each step.
template <Assembly assemble>
Wide swiglu_sums_in_t(const Element& t, const Wide& x, const Wide& ln1, const Wide& w_q,
                      const Wide& w_k, const Wide& w_v, const Wide& w_o, const Wide& ln2,
                      const Wide& w1, const Wide& w2, const Wide& w3, std::int64_t num_heads,
                      double theta, std::int64_t max_seq_len, double eps) {
  return assemble(
      x,
      {.attention =
           [&](const Tensor<double>& a) {
             return multihead_self_attention::with_rope_sums_in_t(
                 t, a, w_q, w_k, w_v, w_o, std::nullopt, num_heads, theta, max_seq_len);
           },
       .feed_forward =
           [&](const Tensor<double>& a) {
             return feed_forward::swiglu_sums_in_t(t, a, w1, w2, w3);
           },
       .norm1 = [&](const Tensor<double>& a) { return rmsnorm::with_sums_in_t(t, a, ln1, eps); },
       .norm2 = [&](const Tensor<double>& a) { return rmsnorm::with_sums_in_t(t, a, ln2, eps); }});
}

inline Wide gelu_sums_in_t(const Element& t, const Wide& x, const Wide& ln1, const Wide& w_q,
                           const Wide& w_k, const Wide& w_v, const Wide& w_o, const Wide& ln2,
                           const Wide& w1, const Wide& w2, std::int64_t num_heads, double eps) {
  return pre_norm(
      x,
      {.attention =
           [&](const Tensor<double>& a) {
             return multihead_self_attention::plain_sums_in_t(t, a, w_q, w_k, w_v, w_o, num_heads);
           },
       .feed_forward =
           [&](const Tensor<double>& a) {
             return feed_forward::ffn_sums_in_t<feed_forward::gelu>(t, a, w1, w2);
           },
       .norm1 = [&](const Tensor<double>& a) { return rmsnorm::with_sums_in_t(t, a, ln1, eps); },
       .norm2 = [&](const Tensor<double>& a) { return rmsnorm::with_sums_in_t(t, a, ln2, eps); }});
}

}  // namespace prenorm::mistakes::transformer_block
