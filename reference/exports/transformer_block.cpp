#include "../transformer_block.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(reference::rmsnorm)
PRENORM_COMPILED_ELSEWHERE(reference::ffn_gelu)
PRENORM_COMPILED_ELSEWHERE(reference::ffn_swiglu)
PRENORM_COMPILED_ELSEWHERE(reference::multihead_self_attention)
PRENORM_COMPILED_ELSEWHERE(reference::multihead_self_attention_with_rope)

PRENORM_EXPORT(transformer_block, reference::transformer_block)
PRENORM_EXPORT(transformer_block_post_norm, reference::transformer_block_post_norm)
PRENORM_EXPORT(transformer_block_gelu, reference::transformer_block_gelu)
