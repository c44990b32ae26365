#include "transformer_lm.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(room::embedding)
PRENORM_COMPILED_ELSEWHERE(room::linear)
PRENORM_COMPILED_ELSEWHERE(room::rmsnorm)
PRENORM_COMPILED_ELSEWHERE(room::transformer_block)

PRENORM_EXPORT(transformer_lm, room::transformer_lm)
