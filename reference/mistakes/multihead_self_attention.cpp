#include "multihead_self_attention.hpp"

using namespace prenorm::mistakes::multihead_self_attention;

PRENORM_COMPILED_IN_PLAIN(linear)
PRENORM_COMPILED_IN_PLAIN(rope)
PRENORM_COMPILED_IN_PLAIN(scaled_dot_product_attention)

EXPORT_MISTAKE_APART(multihead_self_attention__not_causal, plain<not_causal>)
EXPORT_MISTAKE_APART(multihead_self_attention__strictly_causal, plain<strictly_causal>)
EXPORT_MISTAKE_APART(multihead_self_attention__mask_inverted, plain<mask_inverted>)
EXPORT_MISTAKE_APART(multihead_self_attention__heads_without_transpose,
                     plain<heads_without_transpose>)
EXPORT_MISTAKE_APART(multihead_self_attention__weights_not_transposed,
                     plain<weights_not_transposed>)
EXPORT_MISTAKE_APART(multihead_self_attention__no_output_projection, plain<no_output_projection>)
EXPORT_MISTAKE_APART(multihead_self_attention__scale_by_sqrt_d_model, plain<scale_by_sqrt_d_model>)
EXPORT_MISTAKE_APART(multihead_self_attention__sentinel_minus_1e4, plain<sentinel_minus_1e4>)
EXPORT_MISTAKE_APART(multihead_self_attention__sentinel_minus_1e9, plain<sentinel_minus_1e9>)
EXPORT_MISTAKE_APART(multihead_self_attention__sums_in_t, plain_sums_in_t)
EXPORT_MISTAKE_APART(multihead_self_attention__first_head_for_all, plain<first_head_for_all>)
EXPORT_MISTAKE_APART(multihead_self_attention__maximum_of_first_tile, plain<maximum_of_first_tile>)

EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__not_causal, with_rope<not_causal>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__strictly_causal,
                     with_rope<strictly_causal>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__mask_inverted, with_rope<mask_inverted>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__heads_without_transpose,
                     with_rope<heads_without_transpose>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__weights_not_transposed,
                     with_rope<weights_not_transposed>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__no_output_projection,
                     with_rope<no_output_projection>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__scale_by_sqrt_d_model,
                     with_rope<scale_by_sqrt_d_model>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__causal_by_position,
                     with_rope<causal_by_position>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__positions_ignored,
                     with_rope<positions_ignored>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__rope_on_v, with_rope<rope_on_v>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__rope_across_d_model,
                     with_rope<rope_across_d_model>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__no_rope, with_rope<no_rope>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__no_rope_without_positions,
                     with_rope<no_rope_without_positions>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__rope_on_q_alone,
                     with_rope<rope_on_q_alone>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__sentinel_minus_1e4,
                     with_rope<sentinel_minus_1e4>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__sentinel_minus_1e9,
                     with_rope<sentinel_minus_1e9>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__sums_in_t, with_rope_sums_in_t)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__first_head_for_all,
                     with_rope<first_head_for_all>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__maximum_of_first_tile,
                     with_rope<maximum_of_first_tile>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__theta_fixed, with_rope<theta_fixed>)
EXPORT_MISTAKE_APART(multihead_self_attention_with_rope__positions_modulo_1024,
                     with_rope<positions_modulo_1024>)

EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__not_causal, fused<not_causal>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__strictly_causal, fused<strictly_causal>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__mask_inverted, fused<mask_inverted>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__heads_without_transpose,
                     fused<heads_without_transpose>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__weights_not_transposed,
                     fused<weights_not_transposed>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__no_output_projection,
                     fused<no_output_projection>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__scale_by_sqrt_d_model,
                     fused<scale_by_sqrt_d_model>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__order_kqv, fused_order_kqv)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__interleaved_by_head,
                     fused_interleaved_by_head)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__sentinel_minus_1e4,
                     fused<sentinel_minus_1e4>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__sentinel_minus_1e9,
                     fused<sentinel_minus_1e9>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__sums_in_t, fused_sums_in_t)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__first_head_for_all,
                     fused<first_head_for_all>)
EXPORT_MISTAKE_APART(multihead_self_attention_fused_qkv__maximum_of_first_tile,
                     fused<maximum_of_first_tile>)
