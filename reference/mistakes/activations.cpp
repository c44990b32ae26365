#include "activations.hpp"

using namespace prenorm::mistakes::activations;

PRENORM_COMPILED_IN_PLAIN(relu)
PRENORM_COMPILED_IN_PLAIN(silu)
PRENORM_COMPILED_IN_PLAIN(gelu)

EXPORT_MISTAKE_APART(relu__nan_to_zero, relu_nan_to_zero)
EXPORT_MISTAKE_APART(relu__one_block, one_block<prenorm::reference::relu<double>>)

EXPORT_MISTAKE_APART(silu__sigmoid_only, silu_sigmoid_only)
EXPORT_MISTAKE_APART(silu__scaled_1702, silu_1702)
EXPORT_MISTAKE_APART(silu__exp_on_top, silu_exp_on_top)
EXPORT_MISTAKE_APART(silu__sigmoid_in_t, silu_sigmoid_in_t)
EXPORT_MISTAKE_APART(silu__one_block, one_block<prenorm::reference::silu<double>>)
EXPORT_MISTAKE_APART(silu__zero_far_below, silu_zero_far_below)

EXPORT_MISTAKE_APART(gelu__tanh_form, gelu_tanh_form)
EXPORT_MISTAKE_APART(gelu__sigmoid_form, gelu_sigmoid_form)
EXPORT_MISTAKE_APART(gelu__no_half, gelu_no_half)
EXPORT_MISTAKE_APART(gelu__no_sqrt2, gelu_no_sqrt2)
EXPORT_MISTAKE_APART(gelu__nan_far_below, gelu_nan_far_below)
EXPORT_MISTAKE_APART(gelu__x_far_below, gelu_x_far_below)
EXPORT_MISTAKE_APART(gelu__phi_in_t, gelu_phi_in_t)
EXPORT_MISTAKE_APART(gelu__one_block, one_block<prenorm::reference::gelu<double>>)
