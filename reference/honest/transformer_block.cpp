// Exports the honest variants of the blocks.
#include "transformer_block.hpp"

using namespace prenorm;
using namespace prenorm::honest;

PRENORM_COMPILED_IN_PLAIN(rmsnorm)
PRENORM_COMPILED_IN_PLAIN(ffn_gelu)
PRENORM_COMPILED_IN_PLAIN(ffn_swiglu)
ALL_SOFTMAX_INSTANCES(extern template, prenorm::honest::multihead_with_rope)

ALL_SOFTMAX_INSTANCES(template, prenorm::honest::block)
EXPORT_SOFTMAXES(transformer_block, block)
EXPORT_SOFTMAXES(transformer_block_gelu, gelu_block)
EXPORT_SOFTMAXES(transformer_block_post_norm, post_norm_block)
