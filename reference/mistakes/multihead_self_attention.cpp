#include "multihead_self_attention.hpp"

namespace prenorm::mistakes::multihead_self_attention {

// What each kind of multi-head attention can have.
#define EXPORT_MISTAKES_OF_HEADS(problem)                                        \
  EXPORT_MISTAKE(problem, not_causal)                                            \
  EXPORT_MISTAKE(problem, strictly_causal)                                       \
  EXPORT_MISTAKE(problem, mask_inverted)                                         \
  EXPORT_MISTAKE(problem, upper_triangle)                                        \
  EXPORT_MISTAKE(problem, heads_without_transpose)                               \
  EXPORT_MISTAKE(problem, heads_merged_without_transpose)                        \
  EXPORT_MISTAKE(problem, heads_interleaved)                                     \
  EXPORT_MISTAKE(problem, num_heads_ignored)                                     \
  EXPORT_MISTAKE(problem, first_head_for_all)                                    \
  EXPORT_MISTAKE(problem, weights_not_transposed)                                \
  EXPORT_MISTAKE(problem, w_o_not_transposed)                                    \
  EXPORT_MISTAKE(problem, no_output_projection)                                  \
  EXPORT_MISTAKE(problem, scale_by_sqrt_d_model)                                 \
  EXPORT_MISTAKE(problem, sums_in_t)                                             \
  EXPORT_MISTAKE(problem, q_and_k_exchanged, attention::q_and_k_exchanged)       \
  EXPORT_MISTAKE(problem, not_scaled, attention::not_scaled)                     \
  EXPORT_MISTAKE(problem, divided_by_d_k, attention::divided_by_d_k)             \
  EXPORT_MISTAKE(problem, scaled_twice, attention::scaled_twice)                 \
  EXPORT_MISTAKE(problem, scaled_after_softmax, attention::scaled_after_softmax) \
  EXPORT_MISTAKE(problem, no_softmax, attention::no_softmax)                     \
  EXPORT_MISTAKE(problem, softmax_over_queries, attention::softmax_over_queries) \
  EXPORT_MISTAKE(problem, mask_added, attention::mask_added)                     \
  EXPORT_MISTAKE(problem, masked_after_softmax, attention::masked_after_softmax) \
  EXPORT_MISTAKE(problem, hidden_scores_zero, attention::hidden_scores_zero)     \
  EXPORT_MISTAKE(problem, sentinel_minus_1e4, attention::sentinel_minus_1e4)     \
  EXPORT_MISTAKE(problem, sentinel_minus_1e9, attention::sentinel_minus_1e9)     \
  EXPORT_MISTAKE(problem, maximum_of_first_tile, attention::maximum_of_first_tile)

EXPORT_MISTAKES_OF_HEADS(multihead_self_attention)

EXPORT_MISTAKES_OF_HEADS(multihead_self_attention_with_rope)
EXPORT_MISTAKE(multihead_self_attention_with_rope, causal_by_position)
EXPORT_MISTAKE(multihead_self_attention_with_rope, no_rope)
EXPORT_MISTAKE(multihead_self_attention_with_rope, no_rope_without_positions)
EXPORT_MISTAKE(multihead_self_attention_with_rope, rope_on_q_alone)
EXPORT_MISTAKE(multihead_self_attention_with_rope, rope_on_k_alone)
EXPORT_MISTAKE(multihead_self_attention_with_rope, rope_on_v)
EXPORT_MISTAKE(multihead_self_attention_with_rope, rope_across_d_model)
EXPORT_MISTAKE(multihead_self_attention_with_rope, positions_modulo_1024)
EXPORT_MISTAKE(multihead_self_attention_with_rope, positions_of_batch_ignored)
EXPORT_MISTAKE(multihead_self_attention_with_rope, halves, rope::halves)
EXPORT_MISTAKE(multihead_self_attention_with_rope, turned_the_other_way, rope::turned_the_other_way)
EXPORT_MISTAKE(multihead_self_attention_with_rope, sin_and_cos_exchanged,
               rope::sin_and_cos_exchanged)
EXPORT_MISTAKE(multihead_self_attention_with_rope, exponent_k_over_d, rope::exponent_k_over_d)
EXPORT_MISTAKE(multihead_self_attention_with_rope, pairs_counted_from_1, rope::pairs_counted_from_1)
EXPORT_MISTAKE(multihead_self_attention_with_rope, positions_ignored, rope::positions_ignored)
EXPORT_MISTAKE(multihead_self_attention_with_rope, theta_fixed, rope::theta_fixed)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles,
               in_wide_types<rope::float32_angles>)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_exp_log,
               in_wide_types<rope::float32_angles_by_exp_log>)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_exp_of_product,
               in_wide_types<rope::float32_angles_by_exp_of_product>)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_quotient,
               in_wide_types<rope::float32_angles_by_quotient>)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_reciprocal,
               in_wide_types<rope::float32_angles_by_reciprocal>)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_negative_power,
               in_wide_types<rope::float32_angles_by_negative_power>)

EXPORT_MISTAKES_OF_HEADS(multihead_self_attention_fused_qkv)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, order_kqv)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, interleaved_by_head)

}  // namespace prenorm::mistakes::multihead_self_attention
