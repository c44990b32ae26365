#include "transformer_lm.hpp"

#include "export.hpp"

#if defined(PRENORM_TEXT)
namespace prenorm {

/// A language model's parameters stand side by side in a signature; those of its layers are
/// stacked: [num_layers, ...].
template <class T>
struct argument<reference::LMWeights<T>> {
  static reference::LMWeights<T> read(Arguments& arguments) {
    using namespace reference;
    const auto next = [&] { return copied(arguments.input<T>()); };
    LMWeights<T> weights{.token_embeddings = next(), .layers = {}, .ln_final = {}, .lm_head = {}};
    std::array<Tensor<T>, 9> stacked{next(), next(), next(), next(), next(),
                                     next(), next(), next(), next()};
    weights.ln_final = next();
    weights.lm_head = next();
    for (const Tensor<T>& each : stacked) {
      require(each.dimension() >= 2 && each.shape(0) == stacked[0].shape(0),
              "transformer_lm: every parameter of the layers must be [num_layers, ...], one is ",
              each.shape(), ", the first is ", stacked[0].shape());
    }
    for (std::size_t i = 0; i < stacked[0].shape(0); ++i) {
      const auto of = [&](std::size_t which) -> Tensor<T> { return xt::view(stacked[which], i); };
      weights.layers.push_back({of(0), {of(1), of(2), of(3), of(4)}, of(5), {of(6), of(7), of(8)}});
    }
    return weights;
  }
};

}  // namespace prenorm
#endif

using namespace prenorm;

PRENORM_COMPILED_ELSEWHERE(room::embedding)
PRENORM_COMPILED_ELSEWHERE(room::linear)
PRENORM_COMPILED_ELSEWHERE(room::rmsnorm)
PRENORM_COMPILED_ELSEWHERE(room::transformer_block)

PRENORM_EXPORT(transformer_lm, room::transformer_lm)

PRENORM_EXPORT_FIELD_FORMS(transformer_lm)
