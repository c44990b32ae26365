#include "transformer_lm.hpp"

PRENORM_COMPILED_IN_PLAIN(embedding)
PRENORM_COMPILED_IN_PLAIN(softmax)

namespace prenorm::mistakes::transformer_lm {

EXPORT_MISTAKES_OF_BLOCKS(transformer_lm)
EXPORT_MISTAKES_OF_BLOCKS_WITH_ROPE_AND_SWIGLU(transformer_lm)
EXPORT_MISTAKES_OF_PRE_NORM_BLOCKS(transformer_lm)
EXPORT_MISTAKE(transformer_lm, no_final_norm)
EXPORT_MISTAKE(transformer_lm, norm_before_last_block)
EXPORT_MISTAKE(transformer_lm, tied_head)
EXPORT_MISTAKE(transformer_lm, softmax_at_the_end)
EXPORT_MISTAKE(transformer_lm, first_layer_for_all)
EXPORT_MISTAKE(transformer_lm, layers_reversed)
EXPORT_MISTAKE(transformer_lm, last_layer_left_out)
EXPORT_MISTAKE(transformer_lm, embeddings_scaled)
EXPORT_MISTAKE(transformer_lm, nan_embeddings_are_0)
EXPORT_MISTAKE(transformer_lm, last_eps_fixed)
EXPORT_MISTAKE(transformer_lm, sums_in_t)

}  // namespace prenorm::mistakes::transformer_lm
