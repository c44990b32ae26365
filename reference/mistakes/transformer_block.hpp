// Known mistakes of reference/transformer_block.hpp.
#pragma once

#include "../fast/transformer_block.hpp"
#include "feed_forward.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"

#include <functional>

namespace prenorm::mistakes::transformer_block {

/// The order of a block: its own, or another's.
enum class Order { own, norms_before, norms_after };

/// The steps of a block, with those of its parts; the defaults are right.
struct Steps : rmsnorm::Steps, multihead_self_attention::Steps, feed_forward::Steps {
  Order order = Order::own;
  bool adds_to_x = true, adds_to_normed_x = false;  // what attention gives
  bool adds_to_attended = true;                     // what the network gives
  bool network_of_x = false;
  bool ln1_first = true, ln2_second = true;

  bool operator==(const Steps&) const = default;
};

using Layer = std::function<Wide(const Wide&)>;

/// A block of its two layers.
inline Wide assembled(const Steps& steps, const Element& t, Order own, const Wide& x,
                      const Wide& ln1, const Wide& ln2, double eps, const Layer& attention,
                      const Layer& network) {
  // step: first norm
  const auto norm1 = [&](const Wide& a) {
    return rmsnorm::rmsnorm(steps, t, a, steps.ln1_first ? ln1 : ln2, eps);
  };
  // step: second norm
  const auto norm2 = [&](const Wide& a) {
    return rmsnorm::rmsnorm(steps, t, a, steps.ln2_second ? ln2 : ln1, eps);
  };
  // step: first norm, second norm
  const Order order = steps.order == Order::own ? own : steps.order;

  if (order == Order::norms_after) {
    // step: attention, residual sum, first norm
    const Wide attended = attention(x), y = norm1(steps.adds_to_x ? Wide(x + attended) : attended);
    // step: feed-forward
    const Wide z = network(steps.network_of_x ? x : y);
    // step: residual sum, second norm
    return norm2(steps.adds_to_attended ? Wide(y + z) : z);
  }
  // step: first norm, attention
  const Wide normed = norm1(x), attended = attention(normed);
  // step: residual sum
  const Wide& added_to = steps.adds_to_normed_x ? normed : x;
  const Wide y = steps.adds_to_x ? Wide(added_to + attended) : attended;
  // step: second norm, feed-forward
  const Wide z = network(norm2(steps.network_of_x ? x : y));
  // step: residual sum
  return steps.adds_to_attended ? Wide(y + z) : z;
}

inline Wide with_rope_and_swiglu(const Steps& steps, const Element& t, Order own, const Wide& x,
                                 const Wide& ln1, const Wide& w_q, const Wide& w_k, const Wide& w_v,
                                 const Wide& w_o, const Wide& ln2, const Wide& w1, const Wide& w2,
                                 const Wide& w3, std::int64_t num_heads, double theta,
                                 std::int64_t max_seq_len, double eps) {
  return assembled(
      steps, t, own, x, ln1, ln2, eps,
      [&](const Wide& a) {
        return multihead_self_attention::multihead_self_attention_with_rope(
            steps, t, a, w_q, w_k, w_v, w_o, std::nullopt, num_heads, theta, max_seq_len);
      },
      [&](const Wide& a) { return feed_forward::ffn_swiglu(steps, t, a, w1, w2, w3); });
}

inline Wide transformer_block(const Steps& steps, const Element& t, const Wide& x, const Wide& ln1,
                              const Wide& w_q, const Wide& w_k, const Wide& w_v, const Wide& w_o,
                              const Wide& ln2, const Wide& w1, const Wide& w2, const Wide& w3,
                              std::int64_t num_heads, double theta, std::int64_t max_seq_len,
                              double eps) {
  return with_rope_and_swiglu(steps, t, Order::norms_before, x, ln1, w_q, w_k, w_v, w_o, ln2, w1,
                              w2, w3, num_heads, theta, max_seq_len, eps);
}

inline Wide transformer_block_post_norm(const Steps& steps, const Element& t, const Wide& x,
                                        const Wide& ln1, const Wide& w_q, const Wide& w_k,
                                        const Wide& w_v, const Wide& w_o, const Wide& ln2,
                                        const Wide& w1, const Wide& w2, const Wide& w3,
                                        std::int64_t num_heads, double theta,
                                        std::int64_t max_seq_len, double eps) {
  return with_rope_and_swiglu(steps, t, Order::norms_after, x, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2,
                              w3, num_heads, theta, max_seq_len, eps);
}

inline Wide transformer_block_gelu(const Steps& steps, const Element& t, const Wide& x,
                                   const Wide& ln1, const Wide& w_q, const Wide& w_k,
                                   const Wide& w_v, const Wide& w_o, const Wide& ln2,
                                   const Wide& w1, const Wide& w2, std::int64_t num_heads,
                                   double eps) {
  return assembled(
      steps, t, Order::norms_before, x, ln1, ln2, eps,
      [&](const Wide& a) {
        return multihead_self_attention::multihead_self_attention(steps, t, a, w_q, w_k, w_v, w_o,
                                                                  num_heads);
      },
      [&](const Wide& a) { return feed_forward::ffn_gelu(steps, t, a, w1, w2); });
}

inline void post_norm(Steps& steps) { steps.order = Order::norms_after; }
inline void pre_norm(Steps& steps) { steps.order = Order::norms_before; }
inline void no_first_residual(Steps& steps) { steps.adds_to_x = false; }
inline void no_second_residual(Steps& steps) { steps.adds_to_attended = false; }
/// norm1(x) + attention(norm1(x)) for x + attention(norm1(x)).
inline void residual_from_normed(Steps& steps) { steps.adds_to_normed_x = true; }
inline void one_norm_for_both(Steps& steps) { steps.ln2_second = false; }
inline void norms_exchanged(Steps& steps) { steps.ln1_first = steps.ln2_second = false; }
/// The network takes x, and not what the attention gave.
inline void ffn_of_x(Steps& steps) { steps.network_of_x = true; }
/// Attention and network side by side, under one norm, as GPT-J has them.
inline void parallel(Steps& steps) {
  ffn_of_x(steps);
  one_norm_for_both(steps);
}

/// Every sum of every sub-layer rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  rmsnorm::sums_in_t(steps, t);
  multihead_self_attention::sums_in_t(steps, t);
  feed_forward::sums_in_t(steps, t);
}

}  // namespace prenorm::mistakes::transformer_block

// What each kind of block can have, and a model made of blocks.

#define EXPORT_MISTAKES_OF_BLOCKS(problem)                                                      \
  EXPORT_MISTAKE(problem, no_first_residual, transformer_block::no_first_residual)              \
  EXPORT_MISTAKE(problem, no_second_residual, transformer_block::no_second_residual)            \
  EXPORT_MISTAKE(problem, one_norm_for_both, transformer_block::one_norm_for_both)              \
  EXPORT_MISTAKE(problem, ffn_of_x, transformer_block::ffn_of_x)                                \
  EXPORT_MISTAKE(problem, no_eps, rmsnorm::no_eps)                                              \
  EXPORT_MISTAKE(problem, eps_outside_root, rmsnorm::eps_outside_root)                          \
  EXPORT_MISTAKE(problem, eps_fixed, rmsnorm::eps_fixed)                                        \
  EXPORT_MISTAKE(problem, eps_fixed_at_1e_6, rmsnorm::eps_fixed_at_1e_6)                        \
  EXPORT_MISTAKE(problem, mean_subtracted, rmsnorm::mean_subtracted)                            \
  EXPORT_MISTAKE(problem, sum_for_mean, rmsnorm::sum_for_mean)                                  \
  EXPORT_MISTAKE(problem, no_root, rmsnorm::no_root)                                            \
  EXPORT_MISTAKE(problem, norm_applied_twice, rmsnorm::norm_applied_twice)                      \
  EXPORT_MISTAKE(problem, no_gain, rmsnorm::no_gain)                                            \
  EXPORT_MISTAKE(problem, gain_one_plus_weight, rmsnorm::gain_one_plus_weight)                  \
  EXPORT_MISTAKE(problem, not_causal, multihead_self_attention::not_causal)                     \
  EXPORT_MISTAKE(problem, strictly_causal, multihead_self_attention::strictly_causal)           \
  EXPORT_MISTAKE(problem, mask_inverted, multihead_self_attention::mask_inverted)               \
  EXPORT_MISTAKE(problem, upper_triangle, multihead_self_attention::upper_triangle)             \
  EXPORT_MISTAKE(problem, heads_without_transpose,                                              \
                 multihead_self_attention::heads_without_transpose)                             \
  EXPORT_MISTAKE(problem, no_output_projection, multihead_self_attention::no_output_projection) \
  EXPORT_MISTAKE(problem, not_scaled, attention::not_scaled)                                    \
  EXPORT_MISTAKE(problem, softmax_over_queries, attention::softmax_over_queries)

#define EXPORT_MISTAKES_OF_BLOCKS_WITH_ROPE_AND_SWIGLU(problem)                                   \
  EXPORT_MISTAKE(problem, no_rope, multihead_self_attention::no_rope)                             \
  EXPORT_MISTAKE(problem, rope_on_q_alone, multihead_self_attention::rope_on_q_alone)             \
  EXPORT_MISTAKE(problem, rope_on_v, multihead_self_attention::rope_on_v)                         \
  EXPORT_MISTAKE(problem, rope_across_d_model, multihead_self_attention::rope_across_d_model)     \
  EXPORT_MISTAKE(problem, halves, rope::halves)                                                   \
  EXPORT_MISTAKE(problem, turned_the_other_way, rope::turned_the_other_way)                       \
  EXPORT_MISTAKE(problem, exponent_k_over_d, rope::exponent_k_over_d)                             \
  EXPORT_MISTAKE(problem, theta_fixed, rope::theta_fixed)                                         \
  EXPORT_MISTAKE(problem, float32_angles, in_float64<rope::float32_angles>)                       \
  EXPORT_MISTAKE(problem, float32_angles_by_exp_log, in_float64<rope::float32_angles_by_exp_log>) \
  EXPORT_MISTAKE(problem, float32_angles_by_exp_of_product,                                       \
                 in_float64<rope::float32_angles_by_exp_of_product>)                              \
  EXPORT_MISTAKE(problem, float32_angles_by_quotient,                                             \
                 in_float64<rope::float32_angles_by_quotient>)                                    \
  EXPORT_MISTAKE(problem, float32_angles_by_reciprocal,                                           \
                 in_float64<rope::float32_angles_by_reciprocal>)                                  \
  EXPORT_MISTAKE(problem, float32_angles_by_negative_power,                                       \
                 in_float64<rope::float32_angles_by_negative_power>)                              \
  EXPORT_MISTAKE(problem, exchanged, feed_forward::exchanged)                                     \
  EXPORT_MISTAKE(problem, sigmoid_gate, feed_forward::sigmoid_gate)                               \
  EXPORT_MISTAKE(problem, relu_gate, feed_forward::relu_gate)                                     \
  EXPORT_MISTAKE(problem, gate_left_out, feed_forward::gate_left_out)                             \
  EXPORT_MISTAKE(problem, sum_for_product, feed_forward::sum_for_product)

#define EXPORT_MISTAKES_OF_PRE_NORM_BLOCKS(problem)                                      \
  EXPORT_MISTAKE(problem, post_norm, transformer_block::post_norm)                       \
  EXPORT_MISTAKE(problem, residual_from_normed, transformer_block::residual_from_normed) \
  EXPORT_MISTAKE(problem, norms_exchanged, transformer_block::norms_exchanged)           \
  EXPORT_MISTAKE(problem, parallel, transformer_block::parallel)
