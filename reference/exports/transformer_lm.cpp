#include "../transformer_lm.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(reference::embedding)
PRENORM_COMPILED_ELSEWHERE(reference::linear)
PRENORM_COMPILED_ELSEWHERE(reference::rmsnorm)
PRENORM_COMPILED_ELSEWHERE(reference::transformer_block)

PRENORM_EXPORT(transformer_lm, reference::transformer_lm)
