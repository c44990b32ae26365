#include "activations.hpp"

namespace prenorm::mistakes::activations {

EXPORT_MISTAKE(relu, nan_to_zero)
EXPORT_MISTAKE(relu, one_block)

EXPORT_MISTAKE(silu, sigmoid_only)
EXPORT_MISTAKE(silu, scaled_1702, sigmoid_form)
EXPORT_MISTAKE(silu, exp_on_top)
EXPORT_MISTAKE(silu, sigmoid_in_t)
EXPORT_MISTAKE(silu, zero_far_below)
EXPORT_MISTAKE(silu, one_block)

EXPORT_MISTAKE(gelu, tanh_form)
EXPORT_MISTAKE(gelu, sigmoid_form)
EXPORT_MISTAKE(gelu, no_half)
EXPORT_MISTAKE(gelu, no_sqrt2)
EXPORT_MISTAKE(gelu, nan_far_below)
EXPORT_MISTAKE(gelu, x_far_below)
EXPORT_MISTAKE(gelu, phi_in_t)
EXPORT_MISTAKE(gelu, one_block)

}  // namespace prenorm::mistakes::activations
