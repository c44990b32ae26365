#include "transformer_block.hpp"

#include "export.hpp"

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(room::rmsnorm)
PRENORM_COMPILED_ELSEWHERE(room::ffn_gelu)
PRENORM_COMPILED_ELSEWHERE(room::ffn_swiglu)
PRENORM_COMPILED_ELSEWHERE(room::multihead_self_attention)
PRENORM_COMPILED_ELSEWHERE(room::multihead_self_attention_with_rope)

PRENORM_EXPORT(transformer_block, room::transformer_block)
PRENORM_EXPORT(transformer_block_post_norm, room::transformer_block_post_norm)
PRENORM_EXPORT(transformer_block_gelu, room::transformer_block_gelu)
