#include "transformer_block.hpp"

namespace prenorm::mistakes::transformer_block {

EXPORT_MISTAKES_OF_BLOCKS(transformer_block)
EXPORT_MISTAKES_OF_BLOCKS_WITH_ROPE_AND_SWIGLU(transformer_block)
EXPORT_MISTAKES_OF_PRE_NORM_BLOCKS(transformer_block)
EXPORT_MISTAKE(transformer_block, sums_in_t)

EXPORT_MISTAKES_OF_BLOCKS(transformer_block_gelu)
EXPORT_MISTAKE(transformer_block_gelu, post_norm)
EXPORT_MISTAKE(transformer_block_gelu, residual_from_normed)
EXPORT_MISTAKE(transformer_block_gelu, sums_in_t)
EXPORT_MISTAKE(transformer_block_gelu, silu_instead, feed_forward::silu_instead)
EXPORT_MISTAKE(transformer_block_gelu, relu_instead, feed_forward::relu_instead)
EXPORT_MISTAKE(transformer_block_gelu, tanh_form, in_wide_types<activations::tanh_form>)

EXPORT_MISTAKES_OF_BLOCKS(transformer_block_post_norm)
EXPORT_MISTAKES_OF_BLOCKS_WITH_ROPE_AND_SWIGLU(transformer_block_post_norm)
EXPORT_MISTAKE(transformer_block_post_norm, pre_norm)
EXPORT_MISTAKE(transformer_block_post_norm, sums_in_t)

}  // namespace prenorm::mistakes::transformer_block
