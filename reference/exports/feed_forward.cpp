#include "../feed_forward.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(reference::linear)
PRENORM_COMPILED_ELSEWHERE(reference::relu)
PRENORM_COMPILED_ELSEWHERE(reference::silu)
PRENORM_COMPILED_ELSEWHERE(reference::gelu)

PRENORM_EXPORT(glu, reference::glu)
PRENORM_EXPORT(ffn_relu, reference::ffn_relu)
PRENORM_EXPORT(ffn_silu, reference::ffn_silu)
PRENORM_EXPORT(ffn_gelu, reference::ffn_gelu)
PRENORM_EXPORT(ffn_swiglu, reference::ffn_swiglu)
