#include "transformer_lm.hpp"

PRENORM_COMPILED_IN_PLAIN(embedding)
PRENORM_COMPILED_IN_PLAIN(softmax)

namespace prenorm::mistakes::transformer_lm {

EXPORT_MISTAKE(transformer_lm, no_final_norm)
EXPORT_MISTAKE(transformer_lm, norm_before_last_block)
EXPORT_MISTAKE(transformer_lm, tied_head)
EXPORT_MISTAKE(transformer_lm, softmax_at_the_end)
EXPORT_MISTAKE(transformer_lm, first_layer_for_all)
EXPORT_MISTAKE(transformer_lm, layers_reversed)
EXPORT_MISTAKE(transformer_lm, last_layer_left_out)
EXPORT_MISTAKE(transformer_lm, embeddings_scaled)
EXPORT_MISTAKE(transformer_lm, nan_embeddings_are_0)
EXPORT_MISTAKE(transformer_lm, last_eps_fixed)
EXPORT_MISTAKE(transformer_lm, sums_in_t)
EXPORT_MISTAKE(transformer_lm, post_norm, transformer_block::post_norm)
EXPORT_MISTAKE(transformer_lm, no_first_residual, transformer_block::no_first_residual)
EXPORT_MISTAKE(transformer_lm, no_second_residual, transformer_block::no_second_residual)
EXPORT_MISTAKE(transformer_lm, one_norm_for_both, transformer_block::one_norm_for_both)
EXPORT_MISTAKE(transformer_lm, ffn_of_x, transformer_block::ffn_of_x)
EXPORT_MISTAKE(transformer_lm, residual_from_normed, transformer_block::residual_from_normed)
EXPORT_MISTAKE(transformer_lm, norms_exchanged, transformer_block::norms_exchanged)
EXPORT_MISTAKE(transformer_lm, parallel, transformer_block::parallel)
EXPORT_MISTAKE(transformer_lm, no_eps, rmsnorm::no_eps)
EXPORT_MISTAKE(transformer_lm, eps_outside_root, rmsnorm::eps_outside_root)
EXPORT_MISTAKE(transformer_lm, eps_fixed, rmsnorm::eps_fixed)
EXPORT_MISTAKE(transformer_lm, mean_subtracted, rmsnorm::mean_subtracted)
EXPORT_MISTAKE(transformer_lm, sum_for_mean, rmsnorm::sum_for_mean)
EXPORT_MISTAKE(transformer_lm, no_root, rmsnorm::no_root)
EXPORT_MISTAKE(transformer_lm, no_gain, rmsnorm::no_gain)
EXPORT_MISTAKE(transformer_lm, gain_one_plus_weight, rmsnorm::gain_one_plus_weight)
EXPORT_MISTAKE(transformer_lm, not_causal, multihead_self_attention::not_causal)
EXPORT_MISTAKE(transformer_lm, strictly_causal, multihead_self_attention::strictly_causal)
EXPORT_MISTAKE(transformer_lm, mask_inverted, multihead_self_attention::mask_inverted)
EXPORT_MISTAKE(transformer_lm, heads_without_transpose,
               multihead_self_attention::heads_without_transpose)
EXPORT_MISTAKE(transformer_lm, no_output_projection, multihead_self_attention::no_output_projection)
EXPORT_MISTAKE(transformer_lm, not_scaled, attention::not_scaled)
EXPORT_MISTAKE(transformer_lm, softmax_over_queries, attention::softmax_over_queries)
EXPORT_MISTAKE(transformer_lm, no_rope, multihead_self_attention::no_rope)
EXPORT_MISTAKE(transformer_lm, rope_on_q_alone, multihead_self_attention::rope_on_q_alone)
EXPORT_MISTAKE(transformer_lm, rope_on_v, multihead_self_attention::rope_on_v)
EXPORT_MISTAKE(transformer_lm, rope_across_d_model, multihead_self_attention::rope_across_d_model)
EXPORT_MISTAKE(transformer_lm, halves, rope::halves)
EXPORT_MISTAKE(transformer_lm, turned_the_other_way, rope::turned_the_other_way)
EXPORT_MISTAKE(transformer_lm, exponent_k_over_d, rope::exponent_k_over_d)
EXPORT_MISTAKE(transformer_lm, theta_fixed, rope::theta_fixed)
EXPORT_MISTAKE(transformer_lm, float32_angles, transformer_block::in_float64<rope::float32_angles>)
EXPORT_MISTAKE(transformer_lm, float32_angles_by_exp_log,
               transformer_block::in_float64<rope::float32_angles_by_exp_log>)
EXPORT_MISTAKE(transformer_lm, float32_angles_by_exp_of_product,
               transformer_block::in_float64<rope::float32_angles_by_exp_of_product>)
EXPORT_MISTAKE(transformer_lm, float32_angles_by_quotient,
               transformer_block::in_float64<rope::float32_angles_by_quotient>)
EXPORT_MISTAKE(transformer_lm, float32_angles_by_reciprocal,
               transformer_block::in_float64<rope::float32_angles_by_reciprocal>)
EXPORT_MISTAKE(transformer_lm, float32_angles_by_negative_power,
               transformer_block::in_float64<rope::float32_angles_by_negative_power>)
EXPORT_MISTAKE(transformer_lm, exchanged, feed_forward::exchanged)
EXPORT_MISTAKE(transformer_lm, sigmoid_gate, feed_forward::sigmoid_gate)
EXPORT_MISTAKE(transformer_lm, relu_gate, feed_forward::relu_gate)
EXPORT_MISTAKE(transformer_lm, gate_left_out, feed_forward::gate_left_out)
EXPORT_MISTAKE(transformer_lm, sum_for_product, feed_forward::sum_for_product)

}  // namespace prenorm::mistakes::transformer_lm
