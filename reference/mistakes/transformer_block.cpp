#include "transformer_block.hpp"

using namespace prenorm::mistakes::transformer_block;

PRENORM_COMPILED_IN_PLAIN(rmsnorm)
PRENORM_COMPILED_IN_PLAIN(ffn_gelu)
PRENORM_COMPILED_IN_PLAIN(ffn_swiglu)
PRENORM_COMPILED_IN_PLAIN(multihead_self_attention)
PRENORM_COMPILED_IN_PLAIN(multihead_self_attention_with_rope)
PRENORM_COMPILED_IN_PLAIN(linear)
PRENORM_COMPILED_IN_PLAIN(rope)
PRENORM_COMPILED_IN_PLAIN(scaled_dot_product_attention)

EXPORT_MISTAKE_APART(transformer_block__post_norm, swiglu_block<post_norm>)
EXPORT_MISTAKE_APART(transformer_block__no_first_residual, swiglu_block<no_first_residual>)
EXPORT_MISTAKE_APART(transformer_block__no_second_residual, swiglu_block<no_second_residual>)
EXPORT_MISTAKE_APART(transformer_block__residual_from_normed, swiglu_block<residual_from_normed>)
EXPORT_MISTAKE_APART(transformer_block__one_norm_for_both, swiglu_block<one_norm_for_both>)
EXPORT_MISTAKE_APART(transformer_block__ffn_of_x, swiglu_block<ffn_of_x>)
EXPORT_MISTAKE_APART(transformer_block__no_rope, block_without_rope<pre_norm>)
EXPORT_MISTAKE_APART(transformer_block__eps_fixed, block_eps_fixed<pre_norm>)
EXPORT_MISTAKE_APART(transformer_block__theta_fixed, block_theta_fixed<pre_norm>)
EXPORT_MISTAKE_APART(transformer_block__norms_exchanged, swiglu_block<norms_exchanged>)
EXPORT_MISTAKE_APART(transformer_block__parallel, swiglu_block<parallel>)
EXPORT_MISTAKE_APART(transformer_block__sums_in_t, swiglu_sums_in_t<pre_norm>)

EXPORT_MISTAKE_APART(transformer_block_gelu__post_norm, gelu_block<post_norm>)
EXPORT_MISTAKE_APART(transformer_block_gelu__no_first_residual, gelu_block<no_first_residual>)
EXPORT_MISTAKE_APART(transformer_block_gelu__no_second_residual, gelu_block<no_second_residual>)
EXPORT_MISTAKE_APART(transformer_block_gelu__residual_from_normed, gelu_block<residual_from_normed>)
EXPORT_MISTAKE_APART(transformer_block_gelu__one_norm_for_both, gelu_block<one_norm_for_both>)
EXPORT_MISTAKE_APART(transformer_block_gelu__ffn_of_x, gelu_block<ffn_of_x>)
EXPORT_MISTAKE_APART(transformer_block_gelu__sums_in_t, gelu_sums_in_t)

EXPORT_MISTAKE_APART(transformer_block_post_norm__pre_norm, swiglu_block<pre_norm>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__no_first_residual,
                     swiglu_block<post_no_first_residual>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__no_second_residual,
                     swiglu_block<post_no_second_residual>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__one_norm_for_both,
                     swiglu_block<post_one_norm_for_both>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__ffn_of_x, swiglu_block<post_ffn_of_x>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__no_rope, block_without_rope<post_norm>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__theta_fixed, block_theta_fixed<post_norm>)
EXPORT_MISTAKE_APART(transformer_block_post_norm__sums_in_t, swiglu_sums_in_t<post_norm>)
