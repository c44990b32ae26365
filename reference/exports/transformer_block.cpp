#include "transformer_block.hpp"

#include "export.hpp"

#if defined(PRENORM_TEXT)
namespace prenorm {

/// A block's parameters stand side by side in a signature.
template <class T>
struct argument<reference::BlockWeights<T>> {
  static reference::BlockWeights<T> read(Arguments& arguments) {
    const auto next = [&] { return copied(arguments.input<T>()); };
    return {next(), {next(), next(), next(), next()}, next(), {next(), next(), next()}};
  }
};
template <class T>
struct argument<reference::BlockWeights<T, reference::GELUWeights>> {
  static reference::BlockWeights<T, reference::GELUWeights> read(Arguments& arguments) {
    const auto next = [&] { return copied(arguments.input<T>()); };
    return {next(), {next(), next(), next(), next()}, next(), {next(), next()}};
  }
};

}  // namespace prenorm
#endif

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(room::rmsnorm)
PRENORM_COMPILED_ELSEWHERE(room::ffn_gelu)
PRENORM_COMPILED_ELSEWHERE(room::ffn_swiglu)
PRENORM_COMPILED_ELSEWHERE(room::multihead_self_attention)
PRENORM_COMPILED_ELSEWHERE(room::multihead_self_attention_with_rope)

PRENORM_EXPORT(transformer_block, room::transformer_block)
PRENORM_EXPORT(transformer_block_post_norm, room::transformer_block_post_norm)
PRENORM_EXPORT(transformer_block_gelu, room::transformer_block_gelu)

PRENORM_EXPORT_FIELD_FORMS(transformer_block)
PRENORM_EXPORT_FIELD_FORMS(transformer_block_post_norm)
PRENORM_EXPORT_FIELD_FORMS(transformer_block_gelu)
