#include "activations.hpp"

using namespace prenorm::mistakes::activations;

EXPORT_MISTAKE(relu__nan_to_zero, relu_nan_to_zero)

EXPORT_MISTAKE(silu__sigmoid_only, silu_sigmoid_only)
EXPORT_MISTAKE(silu__scaled_1702, silu_1702)
EXPORT_MISTAKE(silu__exp_on_top, silu_exp_on_top)

EXPORT_MISTAKE(gelu__tanh_form, gelu_tanh_form)
EXPORT_MISTAKE(gelu__sigmoid_form, gelu_sigmoid_form)
EXPORT_MISTAKE(gelu__no_half, gelu_no_half)
EXPORT_MISTAKE(gelu__no_sqrt2, gelu_no_sqrt2)
