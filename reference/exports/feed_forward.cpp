#include "feed_forward.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(room::linear)
PRENORM_COMPILED_ELSEWHERE(room::relu)
PRENORM_COMPILED_ELSEWHERE(room::silu)
PRENORM_COMPILED_ELSEWHERE(room::gelu)

PRENORM_EXPORT(glu, room::glu)
PRENORM_EXPORT(ffn_relu, room::ffn_relu)
PRENORM_EXPORT(ffn_silu, room::ffn_silu)
PRENORM_EXPORT(ffn_gelu, room::ffn_gelu)
PRENORM_EXPORT(ffn_swiglu, room::ffn_swiglu)

PRENORM_EXPORT_FIELD_FORMS(ffn_gelu)
