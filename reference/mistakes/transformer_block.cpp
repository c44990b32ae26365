#include "transformer_block.hpp"

namespace prenorm::mistakes::transformer_block {

EXPORT_MISTAKE(transformer_block, post_norm)
EXPORT_MISTAKE(transformer_block, no_first_residual)
EXPORT_MISTAKE(transformer_block, no_second_residual)
EXPORT_MISTAKE(transformer_block, one_norm_for_both)
EXPORT_MISTAKE(transformer_block, ffn_of_x)
EXPORT_MISTAKE(transformer_block, residual_from_normed)
EXPORT_MISTAKE(transformer_block, norms_exchanged)
EXPORT_MISTAKE(transformer_block, parallel)
EXPORT_MISTAKE(transformer_block, sums_in_t)
EXPORT_MISTAKE(transformer_block, no_eps, rmsnorm::no_eps)
EXPORT_MISTAKE(transformer_block, eps_outside_root, rmsnorm::eps_outside_root)
EXPORT_MISTAKE(transformer_block, eps_fixed, rmsnorm::eps_fixed)
EXPORT_MISTAKE(transformer_block, mean_subtracted, rmsnorm::mean_subtracted)
EXPORT_MISTAKE(transformer_block, sum_for_mean, rmsnorm::sum_for_mean)
EXPORT_MISTAKE(transformer_block, no_root, rmsnorm::no_root)
EXPORT_MISTAKE(transformer_block, no_gain, rmsnorm::no_gain)
EXPORT_MISTAKE(transformer_block, gain_one_plus_weight, rmsnorm::gain_one_plus_weight)
EXPORT_MISTAKE(transformer_block, not_causal, multihead_self_attention::not_causal)
EXPORT_MISTAKE(transformer_block, strictly_causal, multihead_self_attention::strictly_causal)
EXPORT_MISTAKE(transformer_block, mask_inverted, multihead_self_attention::mask_inverted)
EXPORT_MISTAKE(transformer_block, heads_without_transpose,
               multihead_self_attention::heads_without_transpose)
EXPORT_MISTAKE(transformer_block, no_output_projection,
               multihead_self_attention::no_output_projection)
EXPORT_MISTAKE(transformer_block, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(transformer_block, softmax_over_queries, attention::softmax_over_queries)
EXPORT_MISTAKE(transformer_block, no_rope, multihead_self_attention::no_rope)
EXPORT_MISTAKE(transformer_block, rope_on_q_alone, multihead_self_attention::rope_on_q_alone)
EXPORT_MISTAKE(transformer_block, rope_on_v, multihead_self_attention::rope_on_v)
EXPORT_MISTAKE(transformer_block, rope_across_d_model,
               multihead_self_attention::rope_across_d_model)
EXPORT_MISTAKE(transformer_block, halves, rope::halves)
EXPORT_MISTAKE(transformer_block, turned_the_other_way, rope::turned_the_other_way)
EXPORT_MISTAKE(transformer_block, exponent_k_over_d, rope::exponent_k_over_d)
EXPORT_MISTAKE(transformer_block, theta_fixed, rope::theta_fixed)
EXPORT_MISTAKE(transformer_block, float32_angles, in_float64<rope::float32_angles>)
EXPORT_MISTAKE(transformer_block, float32_angles_by_exp_log,
               in_float64<rope::float32_angles_by_exp_log>)
EXPORT_MISTAKE(transformer_block, float32_angles_by_exp_of_product,
               in_float64<rope::float32_angles_by_exp_of_product>)
EXPORT_MISTAKE(transformer_block, float32_angles_by_quotient,
               in_float64<rope::float32_angles_by_quotient>)
EXPORT_MISTAKE(transformer_block, float32_angles_by_reciprocal,
               in_float64<rope::float32_angles_by_reciprocal>)
EXPORT_MISTAKE(transformer_block, float32_angles_by_negative_power,
               in_float64<rope::float32_angles_by_negative_power>)
EXPORT_MISTAKE(transformer_block, exchanged, feed_forward::exchanged)
EXPORT_MISTAKE(transformer_block, sigmoid_gate, feed_forward::sigmoid_gate)
EXPORT_MISTAKE(transformer_block, relu_gate, feed_forward::relu_gate)
EXPORT_MISTAKE(transformer_block, gate_left_out, feed_forward::gate_left_out)
EXPORT_MISTAKE(transformer_block, sum_for_product, feed_forward::sum_for_product)

EXPORT_MISTAKE(transformer_block_gelu, post_norm)
EXPORT_MISTAKE(transformer_block_gelu, no_first_residual)
EXPORT_MISTAKE(transformer_block_gelu, no_second_residual)
EXPORT_MISTAKE(transformer_block_gelu, one_norm_for_both)
EXPORT_MISTAKE(transformer_block_gelu, ffn_of_x)
EXPORT_MISTAKE(transformer_block_gelu, residual_from_normed)
EXPORT_MISTAKE(transformer_block_gelu, sums_in_t)
EXPORT_MISTAKE(transformer_block_gelu, no_eps, rmsnorm::no_eps)
EXPORT_MISTAKE(transformer_block_gelu, eps_outside_root, rmsnorm::eps_outside_root)
EXPORT_MISTAKE(transformer_block_gelu, eps_fixed, rmsnorm::eps_fixed)
EXPORT_MISTAKE(transformer_block_gelu, mean_subtracted, rmsnorm::mean_subtracted)
EXPORT_MISTAKE(transformer_block_gelu, sum_for_mean, rmsnorm::sum_for_mean)
EXPORT_MISTAKE(transformer_block_gelu, no_root, rmsnorm::no_root)
EXPORT_MISTAKE(transformer_block_gelu, no_gain, rmsnorm::no_gain)
EXPORT_MISTAKE(transformer_block_gelu, gain_one_plus_weight, rmsnorm::gain_one_plus_weight)
EXPORT_MISTAKE(transformer_block_gelu, not_causal, multihead_self_attention::not_causal)
EXPORT_MISTAKE(transformer_block_gelu, strictly_causal, multihead_self_attention::strictly_causal)
EXPORT_MISTAKE(transformer_block_gelu, mask_inverted, multihead_self_attention::mask_inverted)
EXPORT_MISTAKE(transformer_block_gelu, heads_without_transpose,
               multihead_self_attention::heads_without_transpose)
EXPORT_MISTAKE(transformer_block_gelu, no_output_projection,
               multihead_self_attention::no_output_projection)
EXPORT_MISTAKE(transformer_block_gelu, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(transformer_block_gelu, softmax_over_queries, attention::softmax_over_queries)
EXPORT_MISTAKE(transformer_block_gelu, silu_instead, feed_forward::silu_instead)
EXPORT_MISTAKE(transformer_block_gelu, relu_instead, feed_forward::relu_instead)
EXPORT_MISTAKE(transformer_block_gelu, tanh_form, in_wide_types<activations::tanh_form>)

EXPORT_MISTAKE(transformer_block_post_norm, pre_norm)
EXPORT_MISTAKE(transformer_block_post_norm, no_first_residual)
EXPORT_MISTAKE(transformer_block_post_norm, no_second_residual)
EXPORT_MISTAKE(transformer_block_post_norm, one_norm_for_both)
EXPORT_MISTAKE(transformer_block_post_norm, ffn_of_x)
EXPORT_MISTAKE(transformer_block_post_norm, sums_in_t)
EXPORT_MISTAKE(transformer_block_post_norm, no_eps, rmsnorm::no_eps)
EXPORT_MISTAKE(transformer_block_post_norm, eps_outside_root, rmsnorm::eps_outside_root)
EXPORT_MISTAKE(transformer_block_post_norm, eps_fixed, rmsnorm::eps_fixed)
EXPORT_MISTAKE(transformer_block_post_norm, mean_subtracted, rmsnorm::mean_subtracted)
EXPORT_MISTAKE(transformer_block_post_norm, sum_for_mean, rmsnorm::sum_for_mean)
EXPORT_MISTAKE(transformer_block_post_norm, no_root, rmsnorm::no_root)
EXPORT_MISTAKE(transformer_block_post_norm, no_gain, rmsnorm::no_gain)
EXPORT_MISTAKE(transformer_block_post_norm, gain_one_plus_weight, rmsnorm::gain_one_plus_weight)
EXPORT_MISTAKE(transformer_block_post_norm, not_causal, multihead_self_attention::not_causal)
EXPORT_MISTAKE(transformer_block_post_norm, strictly_causal,
               multihead_self_attention::strictly_causal)
EXPORT_MISTAKE(transformer_block_post_norm, mask_inverted, multihead_self_attention::mask_inverted)
EXPORT_MISTAKE(transformer_block_post_norm, heads_without_transpose,
               multihead_self_attention::heads_without_transpose)
EXPORT_MISTAKE(transformer_block_post_norm, no_output_projection,
               multihead_self_attention::no_output_projection)
EXPORT_MISTAKE(transformer_block_post_norm, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(transformer_block_post_norm, softmax_over_queries, attention::softmax_over_queries)
EXPORT_MISTAKE(transformer_block_post_norm, no_rope, multihead_self_attention::no_rope)
EXPORT_MISTAKE(transformer_block_post_norm, rope_on_q_alone,
               multihead_self_attention::rope_on_q_alone)
EXPORT_MISTAKE(transformer_block_post_norm, rope_on_v, multihead_self_attention::rope_on_v)
EXPORT_MISTAKE(transformer_block_post_norm, rope_across_d_model,
               multihead_self_attention::rope_across_d_model)
EXPORT_MISTAKE(transformer_block_post_norm, halves, rope::halves)
EXPORT_MISTAKE(transformer_block_post_norm, turned_the_other_way, rope::turned_the_other_way)
EXPORT_MISTAKE(transformer_block_post_norm, exponent_k_over_d, rope::exponent_k_over_d)
EXPORT_MISTAKE(transformer_block_post_norm, theta_fixed, rope::theta_fixed)
EXPORT_MISTAKE(transformer_block_post_norm, float32_angles, in_float64<rope::float32_angles>)
EXPORT_MISTAKE(transformer_block_post_norm, float32_angles_by_exp_log,
               in_float64<rope::float32_angles_by_exp_log>)
EXPORT_MISTAKE(transformer_block_post_norm, float32_angles_by_exp_of_product,
               in_float64<rope::float32_angles_by_exp_of_product>)
EXPORT_MISTAKE(transformer_block_post_norm, float32_angles_by_quotient,
               in_float64<rope::float32_angles_by_quotient>)
EXPORT_MISTAKE(transformer_block_post_norm, float32_angles_by_reciprocal,
               in_float64<rope::float32_angles_by_reciprocal>)
EXPORT_MISTAKE(transformer_block_post_norm, float32_angles_by_negative_power,
               in_float64<rope::float32_angles_by_negative_power>)
EXPORT_MISTAKE(transformer_block_post_norm, exchanged, feed_forward::exchanged)
EXPORT_MISTAKE(transformer_block_post_norm, sigmoid_gate, feed_forward::sigmoid_gate)
EXPORT_MISTAKE(transformer_block_post_norm, relu_gate, feed_forward::relu_gate)
EXPORT_MISTAKE(transformer_block_post_norm, gate_left_out, feed_forward::gate_left_out)
EXPORT_MISTAKE(transformer_block_post_norm, sum_for_product, feed_forward::sum_for_product)

}  // namespace prenorm::mistakes::transformer_block
