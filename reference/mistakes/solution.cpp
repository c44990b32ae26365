// Exports every known mistake: prenorm_<problem>__<mistake>.
#include "activations.hpp"
#include "attention.hpp"
#include "embedding.hpp"
#include "feed_forward.hpp"
#include "linear.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"
#include "rope.hpp"
#include "softmax.hpp"
#include "transformer_block.hpp"

PRENORM_SOLUTION(kDLCPU)

using namespace prenorm::mistakes;

#define EXPORT_MISTAKE(name, ...) \
  PRENORM_EXPORT_FUNCTION(name, prenorm::reference::Widening<&__VA_ARGS__>::call)

EXPORT_MISTAKE(linear__not_transposed, linear::not_transposed)
EXPORT_MISTAKE(linear__sums_in_t, linear::sums_in_t)

EXPORT_MISTAKE(embedding__id_plus_one, embedding::id_plus_one)

EXPORT_MISTAKE(rmsnorm__no_eps, rmsnorm::no_eps)
EXPORT_MISTAKE(rmsnorm__eps_outside_root, rmsnorm::eps_outside_root)
EXPORT_MISTAKE(rmsnorm__sum_for_mean, rmsnorm::sum_for_mean)
EXPORT_MISTAKE(rmsnorm__no_root, rmsnorm::no_root)
EXPORT_MISTAKE(rmsnorm__mean_subtracted, rmsnorm::mean_subtracted)
EXPORT_MISTAKE(rmsnorm__no_gain, rmsnorm::no_gain)
EXPORT_MISTAKE(rmsnorm__gain_one_plus_weight, rmsnorm::gain_one_plus_weight)
EXPORT_MISTAKE(rmsnorm__wrong_axis, rmsnorm::wrong_axis)
EXPORT_MISTAKE(rmsnorm__not_widened, rmsnorm::not_widened)
EXPORT_MISTAKE(rmsnorm__sums_in_t, rmsnorm::sums_in_t)

EXPORT_MISTAKE(relu__nan_to_zero, activations::relu_nan_to_zero)
EXPORT_MISTAKE(silu__sigmoid_only, activations::silu_sigmoid_only)
EXPORT_MISTAKE(silu__scaled_1702, activations::silu_1702)
EXPORT_MISTAKE(silu__exp_on_top, activations::silu_exp_on_top)
EXPORT_MISTAKE(gelu__tanh_form, activations::gelu_tanh_form)
EXPORT_MISTAKE(gelu__sigmoid_form, activations::gelu_sigmoid_form)
EXPORT_MISTAKE(gelu__no_half, activations::gelu_no_half)
EXPORT_MISTAKE(gelu__no_sqrt2, activations::gelu_no_sqrt2)

EXPORT_MISTAKE(glu__exchanged, feed_forward::glu_exchanged)
EXPORT_MISTAKE(glu__silu_gate, feed_forward::glu_silu_gate)
EXPORT_MISTAKE(glu__relu_gate, feed_forward::glu_relu_gate)
EXPORT_MISTAKE(glu__gate_left_out, feed_forward::glu_gate_left_out)
EXPORT_MISTAKE(glu__sum_for_product, feed_forward::glu_sum_for_product)
EXPORT_MISTAKE(glu__sums_in_t, feed_forward::glu_sums_in_t)
EXPORT_MISTAKE(ffn_relu__gelu_instead, feed_forward::ffn_another_activation<feed_forward::gelu>)
EXPORT_MISTAKE(ffn_relu__activation_after_w2,
               feed_forward::ffn_activation_after_w2<feed_forward::relu>)
EXPORT_MISTAKE(ffn_relu__sums_in_t, feed_forward::ffn_sums_in_t<feed_forward::relu>)
EXPORT_MISTAKE(ffn_silu__gelu_instead, feed_forward::ffn_another_activation<feed_forward::gelu>)
EXPORT_MISTAKE(ffn_silu__activation_after_w2,
               feed_forward::ffn_activation_after_w2<feed_forward::silu>)
EXPORT_MISTAKE(ffn_silu__sums_in_t, feed_forward::ffn_sums_in_t<feed_forward::silu>)
EXPORT_MISTAKE(ffn_gelu__silu_instead, feed_forward::ffn_another_activation<feed_forward::silu>)
EXPORT_MISTAKE(ffn_gelu__activation_after_w2,
               feed_forward::ffn_activation_after_w2<feed_forward::gelu>)
EXPORT_MISTAKE(ffn_gelu__sums_in_t, feed_forward::ffn_sums_in_t<feed_forward::gelu>)
EXPORT_MISTAKE(ffn_swiglu__exchanged, feed_forward::swiglu_exchanged)
EXPORT_MISTAKE(ffn_swiglu__sigmoid_gate, feed_forward::swiglu_sigmoid_gate)
EXPORT_MISTAKE(ffn_swiglu__relu_gate, feed_forward::swiglu_relu_gate)
EXPORT_MISTAKE(ffn_swiglu__gate_left_out, feed_forward::swiglu_gate_left_out)
EXPORT_MISTAKE(ffn_swiglu__sum_for_product, feed_forward::swiglu_sum_for_product)
EXPORT_MISTAKE(ffn_swiglu__sums_in_t, feed_forward::swiglu_sums_in_t)

EXPORT_MISTAKE(rope__halves, rope::halves)
EXPORT_MISTAKE(rope__turned_the_other_way, rope::turned_the_other_way)
EXPORT_MISTAKE(rope__position_plus_one, rope::position_plus_one)
EXPORT_MISTAKE(rope__exponent_k_over_d, rope::exponent_k_over_d)
EXPORT_MISTAKE(rope__positions_ignored, rope::positions_ignored)
EXPORT_MISTAKE(rope__float32_angles, rope::float32_angles)

EXPORT_MISTAKE(softmax__no_maximum, softmax::no_maximum)
EXPORT_MISTAKE(softmax__wrong_axis, softmax::wrong_axis)
EXPORT_MISTAKE(softmax__global_sum, softmax::global_sum)
EXPORT_MISTAKE(softmax__logarithm, softmax::logarithm)
EXPORT_MISTAKE(softmax__sums_in_t, softmax::sums_in_t)

EXPORT_MISTAKE(scaled_dot_product_attention__mask_inverted, attention::mask_inverted)
EXPORT_MISTAKE(scaled_dot_product_attention__not_scaled, attention::not_scaled)
EXPORT_MISTAKE(scaled_dot_product_attention__divided_by_d_k, attention::divided_by_d_k)
EXPORT_MISTAKE(scaled_dot_product_attention__divided_by_sqrt_d_v, attention::divided_by_sqrt_d_v)
EXPORT_MISTAKE(scaled_dot_product_attention__softmax_over_queries, attention::softmax_over_queries)
EXPORT_MISTAKE(scaled_dot_product_attention__mask_added, attention::mask_added)
EXPORT_MISTAKE(scaled_dot_product_attention__masked_after_softmax, attention::masked_after_softmax)
EXPORT_MISTAKE(scaled_dot_product_attention__empty_rows_averaged, attention::empty_rows_averaged)
EXPORT_MISTAKE(scaled_dot_product_attention__empty_rows_nan, attention::empty_rows_nan)
EXPORT_MISTAKE(scaled_dot_product_attention__sums_in_t, attention::sums_in_t)

EXPORT_MISTAKE(multihead_self_attention__not_causal,
               multihead_self_attention::plain<multihead_self_attention::not_causal>)
EXPORT_MISTAKE(multihead_self_attention__strictly_causal,
               multihead_self_attention::plain<multihead_self_attention::strictly_causal>)
EXPORT_MISTAKE(multihead_self_attention__mask_inverted,
               multihead_self_attention::plain<multihead_self_attention::mask_inverted>)
EXPORT_MISTAKE(multihead_self_attention__heads_without_transpose,
               multihead_self_attention::plain<multihead_self_attention::heads_without_transpose>)
EXPORT_MISTAKE(multihead_self_attention__weights_not_transposed,
               multihead_self_attention::plain<multihead_self_attention::weights_not_transposed>)
EXPORT_MISTAKE(multihead_self_attention__no_output_projection,
               multihead_self_attention::plain<multihead_self_attention::no_output_projection>)
EXPORT_MISTAKE(multihead_self_attention__scale_by_sqrt_d_model,
               multihead_self_attention::plain<multihead_self_attention::scale_by_sqrt_d_model>)
EXPORT_MISTAKE(multihead_self_attention__sums_in_t, multihead_self_attention::plain_sums_in_t)
EXPORT_MISTAKE(multihead_self_attention_with_rope__not_causal,
               multihead_self_attention::with_rope<multihead_self_attention::not_causal>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__strictly_causal,
               multihead_self_attention::with_rope<multihead_self_attention::strictly_causal>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__mask_inverted,
               multihead_self_attention::with_rope<multihead_self_attention::mask_inverted>)
EXPORT_MISTAKE(
    multihead_self_attention_with_rope__heads_without_transpose,
    multihead_self_attention::with_rope<multihead_self_attention::heads_without_transpose>)
EXPORT_MISTAKE(
    multihead_self_attention_with_rope__weights_not_transposed,
    multihead_self_attention::with_rope<multihead_self_attention::weights_not_transposed>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__no_output_projection,
               multihead_self_attention::with_rope<multihead_self_attention::no_output_projection>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__scale_by_sqrt_d_model,
               multihead_self_attention::with_rope<multihead_self_attention::scale_by_sqrt_d_model>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__causal_by_position,
               multihead_self_attention::with_rope<multihead_self_attention::causal_by_position>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__positions_ignored,
               multihead_self_attention::with_rope<multihead_self_attention::positions_ignored>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__rope_on_v,
               multihead_self_attention::with_rope<multihead_self_attention::rope_on_v>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__rope_across_d_model,
               multihead_self_attention::with_rope<multihead_self_attention::rope_across_d_model>)
EXPORT_MISTAKE(multihead_self_attention_with_rope__sums_in_t,
               multihead_self_attention::with_rope_sums_in_t)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__not_causal,
               multihead_self_attention::fused<multihead_self_attention::not_causal>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__strictly_causal,
               multihead_self_attention::fused<multihead_self_attention::strictly_causal>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__mask_inverted,
               multihead_self_attention::fused<multihead_self_attention::mask_inverted>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__heads_without_transpose,
               multihead_self_attention::fused<multihead_self_attention::heads_without_transpose>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__weights_not_transposed,
               multihead_self_attention::fused<multihead_self_attention::weights_not_transposed>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__no_output_projection,
               multihead_self_attention::fused<multihead_self_attention::no_output_projection>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__scale_by_sqrt_d_model,
               multihead_self_attention::fused<multihead_self_attention::scale_by_sqrt_d_model>)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__order_kqv,
               multihead_self_attention::fused_order_kqv)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__interleaved_by_head,
               multihead_self_attention::fused_interleaved_by_head)
EXPORT_MISTAKE(multihead_self_attention_fused_qkv__sums_in_t,
               multihead_self_attention::fused_sums_in_t)

EXPORT_MISTAKE(transformer_block__post_norm,
               transformer_block::swiglu_block<transformer_block::post_norm>)
EXPORT_MISTAKE(transformer_block__no_first_residual,
               transformer_block::swiglu_block<transformer_block::no_first_residual>)
EXPORT_MISTAKE(transformer_block__no_second_residual,
               transformer_block::swiglu_block<transformer_block::no_second_residual>)
EXPORT_MISTAKE(transformer_block__residual_from_normed,
               transformer_block::swiglu_block<transformer_block::residual_from_normed>)
EXPORT_MISTAKE(transformer_block__one_norm_for_both,
               transformer_block::swiglu_block<transformer_block::one_norm_for_both>)
EXPORT_MISTAKE(transformer_block__ffn_of_x,
               transformer_block::swiglu_block<transformer_block::ffn_of_x>)
EXPORT_MISTAKE(transformer_block__sums_in_t,
               transformer_block::swiglu_sums_in_t<transformer_block::pre_norm>)
EXPORT_MISTAKE(transformer_block_gelu__post_norm,
               transformer_block::gelu_block<transformer_block::post_norm>)
EXPORT_MISTAKE(transformer_block_gelu__no_first_residual,
               transformer_block::gelu_block<transformer_block::no_first_residual>)
EXPORT_MISTAKE(transformer_block_gelu__no_second_residual,
               transformer_block::gelu_block<transformer_block::no_second_residual>)
EXPORT_MISTAKE(transformer_block_gelu__residual_from_normed,
               transformer_block::gelu_block<transformer_block::residual_from_normed>)
EXPORT_MISTAKE(transformer_block_gelu__one_norm_for_both,
               transformer_block::gelu_block<transformer_block::one_norm_for_both>)
EXPORT_MISTAKE(transformer_block_gelu__ffn_of_x,
               transformer_block::gelu_block<transformer_block::ffn_of_x>)
EXPORT_MISTAKE(transformer_block_gelu__sums_in_t, transformer_block::gelu_sums_in_t)
EXPORT_MISTAKE(transformer_block_post_norm__pre_norm,
               transformer_block::swiglu_block<transformer_block::pre_norm>)
EXPORT_MISTAKE(transformer_block_post_norm__no_first_residual,
               transformer_block::swiglu_block<transformer_block::post_no_first_residual>)
EXPORT_MISTAKE(transformer_block_post_norm__no_second_residual,
               transformer_block::swiglu_block<transformer_block::post_no_second_residual>)
EXPORT_MISTAKE(transformer_block_post_norm__one_norm_for_both,
               transformer_block::swiglu_block<transformer_block::post_one_norm_for_both>)
EXPORT_MISTAKE(transformer_block_post_norm__ffn_of_x,
               transformer_block::swiglu_block<transformer_block::post_ffn_of_x>)
EXPORT_MISTAKE(transformer_block_post_norm__sums_in_t,
               transformer_block::swiglu_sums_in_t<transformer_block::post_norm>)
