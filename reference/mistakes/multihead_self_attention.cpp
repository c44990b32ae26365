#include "multihead_self_attention.hpp"

namespace prenorm::mistakes::multihead_self_attention {

EXPORT_MISTAKE(multihead_self_attention, not_causal)
EXPORT_MISTAKE(multihead_self_attention, strictly_causal)
EXPORT_MISTAKE(multihead_self_attention, mask_inverted)
EXPORT_MISTAKE(multihead_self_attention, heads_without_transpose)
EXPORT_MISTAKE(multihead_self_attention, heads_merged_without_transpose)
EXPORT_MISTAKE(multihead_self_attention, heads_interleaved)
EXPORT_MISTAKE(multihead_self_attention, num_heads_ignored)
EXPORT_MISTAKE(multihead_self_attention, first_head_for_all)
EXPORT_MISTAKE(multihead_self_attention, weights_not_transposed)
EXPORT_MISTAKE(multihead_self_attention, w_o_not_transposed)
EXPORT_MISTAKE(multihead_self_attention, no_output_projection)
EXPORT_MISTAKE(multihead_self_attention, scale_by_sqrt_d_model)
EXPORT_MISTAKE(multihead_self_attention, sums_in_t)
EXPORT_MISTAKE(multihead_self_attention, q_and_k_exchanged, attention::q_and_k_exchanged)
EXPORT_MISTAKE(multihead_self_attention, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(multihead_self_attention, divided_by_d_k, attention::divided_by_d_k)
EXPORT_MISTAKE(multihead_self_attention, scaled_twice, attention::scaled_twice)
EXPORT_MISTAKE(multihead_self_attention, scaled_after_softmax, attention::scaled_after_softmax)
EXPORT_MISTAKE(multihead_self_attention, no_softmax, attention::no_softmax)
EXPORT_MISTAKE(multihead_self_attention, softmax_over_queries, attention::softmax_over_queries)
EXPORT_MISTAKE(multihead_self_attention, mask_added, attention::mask_added)
EXPORT_MISTAKE(multihead_self_attention, masked_after_softmax, attention::masked_after_softmax)
EXPORT_MISTAKE(multihead_self_attention, hidden_scores_zero, attention::hidden_scores_zero)
EXPORT_MISTAKE(multihead_self_attention, sentinel_minus_1e4, attention::sentinel_minus_1e4)
EXPORT_MISTAKE(multihead_self_attention, sentinel_minus_1e9, attention::sentinel_minus_1e9)
EXPORT_MISTAKE(multihead_self_attention, maximum_of_first_tile, attention::maximum_of_first_tile)

EXPORT_MISTAKE(multihead_self_attention_with_rope, not_causal)
EXPORT_MISTAKE(multihead_self_attention_with_rope, strictly_causal)
EXPORT_MISTAKE(multihead_self_attention_with_rope, mask_inverted)
EXPORT_MISTAKE(multihead_self_attention_with_rope, heads_without_transpose)
EXPORT_MISTAKE(multihead_self_attention_with_rope, heads_merged_without_transpose)
EXPORT_MISTAKE(multihead_self_attention_with_rope, heads_interleaved)
EXPORT_MISTAKE(multihead_self_attention_with_rope, num_heads_ignored)
EXPORT_MISTAKE(multihead_self_attention_with_rope, first_head_for_all)
EXPORT_MISTAKE(multihead_self_attention_with_rope, weights_not_transposed)
EXPORT_MISTAKE(multihead_self_attention_with_rope, w_o_not_transposed)
EXPORT_MISTAKE(multihead_self_attention_with_rope, no_output_projection)
EXPORT_MISTAKE(multihead_self_attention_with_rope, scale_by_sqrt_d_model)
EXPORT_MISTAKE(multihead_self_attention_with_rope, sums_in_t)
EXPORT_MISTAKE(multihead_self_attention_with_rope, q_and_k_exchanged, attention::q_and_k_exchanged)
EXPORT_MISTAKE(multihead_self_attention_with_rope, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(multihead_self_attention_with_rope, divided_by_d_k, attention::divided_by_d_k)
EXPORT_MISTAKE(multihead_self_attention_with_rope, scaled_twice, attention::scaled_twice)
EXPORT_MISTAKE(multihead_self_attention_with_rope, scaled_after_softmax,
               attention::scaled_after_softmax)
EXPORT_MISTAKE(multihead_self_attention_with_rope, no_softmax, attention::no_softmax)
EXPORT_MISTAKE(multihead_self_attention_with_rope, softmax_over_queries,
               attention::softmax_over_queries)
EXPORT_MISTAKE(multihead_self_attention_with_rope, mask_added, attention::mask_added)
EXPORT_MISTAKE(multihead_self_attention_with_rope, masked_after_softmax,
               attention::masked_after_softmax)
EXPORT_MISTAKE(multihead_self_attention_with_rope, hidden_scores_zero,
               attention::hidden_scores_zero)
EXPORT_MISTAKE(multihead_self_attention_with_rope, sentinel_minus_1e4,
               attention::sentinel_minus_1e4)
EXPORT_MISTAKE(multihead_self_attention_with_rope, sentinel_minus_1e9,
               attention::sentinel_minus_1e9)
EXPORT_MISTAKE(multihead_self_attention_with_rope, maximum_of_first_tile,
               attention::maximum_of_first_tile)
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
EXPORT_MISTAKE(multihead_self_attention_with_rope, positions_ignored, rope::positions_ignored)
EXPORT_MISTAKE(multihead_self_attention_with_rope, theta_fixed, rope::theta_fixed)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles, rope::float32_angles)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_exp_log,
               rope::float32_angles_by_exp_log)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_exp_of_product,
               rope::float32_angles_by_exp_of_product)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_quotient,
               rope::float32_angles_by_quotient)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_reciprocal,
               rope::float32_angles_by_reciprocal)
EXPORT_MISTAKE(multihead_self_attention_with_rope, float32_angles_by_negative_power,
               rope::float32_angles_by_negative_power)

EXPORT_MISTAKE(multihead_self_attention_fused_qkv, not_causal)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, strictly_causal)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, mask_inverted)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, heads_without_transpose)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, heads_merged_without_transpose)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, heads_interleaved)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, num_heads_ignored)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, first_head_for_all)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, weights_not_transposed)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, w_o_not_transposed)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, no_output_projection)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, scale_by_sqrt_d_model)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, sums_in_t)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, order_kqv)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, interleaved_by_head)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, q_and_k_exchanged, attention::q_and_k_exchanged)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, divided_by_d_k, attention::divided_by_d_k)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, scaled_twice, attention::scaled_twice)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, scaled_after_softmax,
               attention::scaled_after_softmax)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, no_softmax, attention::no_softmax)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, softmax_over_queries,
               attention::softmax_over_queries)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, mask_added, attention::mask_added)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, masked_after_softmax,
               attention::masked_after_softmax)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, hidden_scores_zero,
               attention::hidden_scores_zero)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, sentinel_minus_1e4,
               attention::sentinel_minus_1e4)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, sentinel_minus_1e9,
               attention::sentinel_minus_1e9)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv, maximum_of_first_tile,
               attention::maximum_of_first_tile)

}  // namespace prenorm::mistakes::multihead_self_attention
