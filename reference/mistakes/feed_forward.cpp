#include "feed_forward.hpp"

using namespace prenorm::mistakes::feed_forward;

PRENORM_COMPILED_IN_PLAIN(linear)
PRENORM_COMPILED_IN_PLAIN(relu)
PRENORM_COMPILED_IN_PLAIN(silu)
PRENORM_COMPILED_IN_PLAIN(gelu)
PRENORM_COMPILED_IN_PLAIN(glu)
PRENORM_COMPILED_IN_PLAIN(ffn_swiglu)

EXPORT_MISTAKE(glu__exchanged, glu_exchanged)
EXPORT_MISTAKE(glu__silu_gate, glu_silu_gate)
EXPORT_MISTAKE(glu__relu_gate, glu_relu_gate)
EXPORT_MISTAKE(glu__gate_left_out, glu_gate_left_out)
EXPORT_MISTAKE(glu__sum_for_product, glu_sum_for_product)
EXPORT_MISTAKE(glu__sums_in_t, glu_sums_in_t)

EXPORT_MISTAKE(ffn_relu__gelu_instead, ffn_another_activation<gelu>)
EXPORT_MISTAKE(ffn_relu__activation_after_w2, ffn_activation_after_w2<relu>)
EXPORT_MISTAKE(ffn_relu__sums_in_t, ffn_sums_in_t<relu>)

EXPORT_MISTAKE(ffn_silu__gelu_instead, ffn_another_activation<gelu>)
EXPORT_MISTAKE(ffn_silu__activation_after_w2, ffn_activation_after_w2<silu>)
EXPORT_MISTAKE(ffn_silu__sums_in_t, ffn_sums_in_t<silu>)

EXPORT_MISTAKE(ffn_gelu__silu_instead, ffn_another_activation<silu>)
EXPORT_MISTAKE(ffn_gelu__activation_after_w2, ffn_activation_after_w2<gelu>)
EXPORT_MISTAKE(ffn_gelu__sums_in_t, ffn_sums_in_t<gelu>)

EXPORT_MISTAKE(ffn_swiglu__exchanged, swiglu_exchanged)
EXPORT_MISTAKE(ffn_swiglu__sigmoid_gate, swiglu_sigmoid_gate)
EXPORT_MISTAKE(ffn_swiglu__relu_gate, swiglu_relu_gate)
EXPORT_MISTAKE(ffn_swiglu__gate_left_out, swiglu_gate_left_out)
EXPORT_MISTAKE(ffn_swiglu__sum_for_product, swiglu_sum_for_product)
EXPORT_MISTAKE(ffn_swiglu__sums_in_t, swiglu_sums_in_t)
