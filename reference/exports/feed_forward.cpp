#include "../feed_forward.hpp"

using namespace prenorm;

PRENORM_EXPORT(glu, reference::glu)
PRENORM_EXPORT(ffn_relu, reference::ffn_relu)
PRENORM_EXPORT(ffn_silu, reference::ffn_silu)
PRENORM_EXPORT(ffn_gelu, reference::ffn_gelu)
PRENORM_EXPORT(ffn_swiglu, reference::ffn_swiglu)
