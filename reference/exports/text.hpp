// How a call's tensors become those of reference/, and its result the call's output: by copies.
#pragma once

#include "../transformer_lm.hpp"

namespace prenorm {

template <class T>
reference::Tensor<T> copied(const View<const T>& view) {
  auto x = reference::empty<T>({view.shape().begin(), view.shape().end()});
  std::copy_n(view.data(), view.size(), x.data());
  return x;
}

template <class T>
struct argument<reference::Tensor<T>> {
  static reference::Tensor<T> read(Arguments& arguments) { return copied(arguments.input<T>()); }
};

template <class T>
struct argument<std::optional<reference::Tensor<T>>> {
  static std::optional<reference::Tensor<T>> read(Arguments& arguments) {
    const auto view = arguments.optional_input<T>();
    if (!view) return std::nullopt;
    return copied(*view);
  }
};

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

/// So do a language model's; those of its layers are stacked: [num_layers, ...].
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

#define PRENORM_COMPILED_HERE(function) PRENORM_INSTANCES(template, function)

#undef PRENORM_EXPORT
#define PRENORM_EXPORT(problem, function) \
  PRENORM_COMPILED_HERE(function)         \
  PRENORM_EXPORT_FOR(problem, function, double, float, float16, bfloat16)

#define PRENORM_ALL_TENSORS(prefix)
