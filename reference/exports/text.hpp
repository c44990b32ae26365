// How a call's tensors become those of reference/, and its result the call's output: by copies.
#pragma once

#include "../tensor.hpp"

#include <prenorm/prenorm.hpp>

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

}  // namespace prenorm

#define PRENORM_EXPORT_TEXT(problem, function) \
  PRENORM_INSTANCES(template, function)        \
  PRENORM_EXPORT_FOR(problem, function, double, float, float16, bfloat16)

#define PRENORM_ALL_TENSORS(prefix)
