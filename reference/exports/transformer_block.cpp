#include "../transformer_block.hpp"

using namespace prenorm;

PRENORM_EXPORT(transformer_block, reference::transformer_block)
PRENORM_EXPORT(transformer_block_post_norm, reference::transformer_block_post_norm)
PRENORM_EXPORT(transformer_block_gelu, reference::transformer_block_gelu)
