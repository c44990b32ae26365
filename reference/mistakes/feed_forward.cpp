#include "feed_forward.hpp"

namespace prenorm::mistakes::feed_forward {

EXPORT_MISTAKE(glu, exchanged)
EXPORT_MISTAKE(glu, silu_gate)
EXPORT_MISTAKE(glu, relu_gate)
EXPORT_MISTAKE(glu, no_activation)
EXPORT_MISTAKE(glu, gate_left_out, sigmoid_left_out)
EXPORT_MISTAKE(glu, sum_for_product)
EXPORT_MISTAKE(glu, sums_in_t)
EXPORT_MISTAKE(glu, gate_clipped)

#define EXPORT_MISTAKES_WITHOUT_A_GATE(problem) \
  EXPORT_MISTAKE(problem, activation_after_w2)  \
  EXPORT_MISTAKE(problem, no_activation)        \
  EXPORT_MISTAKE(problem, sums_in_t)            \
  EXPORT_MISTAKE(problem, tiles_added_in_t)

EXPORT_MISTAKE(ffn_relu, gelu_instead)
EXPORT_MISTAKES_WITHOUT_A_GATE(ffn_relu)
EXPORT_MISTAKE(ffn_relu, clipped_at_6)
EXPORT_MISTAKE(ffn_relu, leaky)

EXPORT_MISTAKE(ffn_silu, gelu_instead)
EXPORT_MISTAKES_WITHOUT_A_GATE(ffn_silu)
EXPORT_MISTAKE(ffn_silu, exp_on_top, activations::exp_on_top)

EXPORT_MISTAKE(ffn_gelu, silu_instead)
EXPORT_MISTAKES_WITHOUT_A_GATE(ffn_gelu)
EXPORT_MISTAKE(ffn_gelu, nan_far_below, activations::nan_far_below)
EXPORT_MISTAKE(ffn_gelu, x_far_below, activations::x_far_below)

EXPORT_MISTAKE(ffn_swiglu, exchanged)
EXPORT_MISTAKE(ffn_swiglu, sigmoid_gate)
EXPORT_MISTAKE(ffn_swiglu, relu_gate)
EXPORT_MISTAKE(ffn_swiglu, gelu_gate)
EXPORT_MISTAKE(ffn_swiglu, first_weight_twice)
EXPORT_MISTAKE(ffn_swiglu, no_activation)
EXPORT_MISTAKE(ffn_swiglu, gate_left_out)
EXPORT_MISTAKE(ffn_swiglu, sum_for_product)
EXPORT_MISTAKE(ffn_swiglu, silu_of_product)
EXPORT_MISTAKE(ffn_swiglu, sums_in_t)
EXPORT_MISTAKE(ffn_swiglu, tiles_added_in_t)
EXPORT_MISTAKE(ffn_swiglu, exp_on_top, activations::exp_on_top)

}  // namespace prenorm::mistakes::feed_forward
