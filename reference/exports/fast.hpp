// How a call's tensors become those of reference/fast/, and its result the call's output: they stay
// where they are.
#pragma once

#include "../fast/field.hpp"

#include <prenorm/prenorm.hpp>

#include <type_traits>

namespace prenorm {

// (Members are defined outside, so that a solution compiles them once: see PRENORM_ALL_TENSORS.)
template <class T>
struct argument<fast::Tensor<T>> {
  static fast::Tensor<T> read(Arguments& arguments);
};
template <class T>
fast::Tensor<T> argument<fast::Tensor<T>>::read(Arguments& arguments) {
  const auto view = arguments.input<T>();
  return fast::tensor_at(view.data(), {view.shape().begin(), view.shape().end()});
}

template <class T>
struct argument<std::optional<fast::Tensor<T>>> {
  static std::optional<fast::Tensor<T>> read(Arguments& arguments);
};
template <class T>
std::optional<fast::Tensor<T>> argument<std::optional<fast::Tensor<T>>>::read(
    Arguments& arguments) {
  const auto view = arguments.optional_input<T>();
  if (!view) return std::nullopt;
  return fast::tensor_at(view->data(), {view->shape().begin(), view->shape().end()});
}

/// The memory of a call's first output, for the tensor that the function returns.
inline fast::MemoryForResult memory_of_output(const prenorm_call& call) {
  if (call.num_outputs < 1) return {nullptr, 0};
  const DLTensor& output = *call.outputs[0];
  std::size_t bytes = output.dtype.bits / 8;
  for (std::int32_t axis = 0; axis < output.ndim; ++axis) {
    bytes *= static_cast<std::size_t>(output.shape[axis]);
  }
  return {output.data, bytes};
}

template <class T>
struct result<fast::Tensor<T>> {
  static void write(const fast::Tensor<T>& value, const prenorm_call& call);
};
template <class T>
void result<fast::Tensor<T>>::write(const fast::Tensor<T>& value, const prenorm_call& call) {
  detail::require_shape(value.shape(), *call.outputs[0]);
  T* const wanted = Arguments(call).output<T>().data();
  if (value.data() != wanted) std::copy_n(value.data(), value.size(), wanted);
}

}  // namespace prenorm

// How tensors come and go is the same for all problems: solution.cpp compiles it.
#define PRENORM_TENSORS(prefix, T)                           \
  prefix struct prenorm::argument<prenorm::fast::Tensor<T>>; \
  prefix struct prenorm::result<prenorm::fast::Tensor<T>>;
#define PRENORM_ALL_TENSORS(prefix)                                                    \
  PRENORM_TENSORS(prefix, double)                                                      \
  PRENORM_TENSORS(prefix, float)                                                       \
  PRENORM_TENSORS(prefix, prenorm::float16)                                            \
  PRENORM_TENSORS(prefix, prenorm::bfloat16)                                           \
  prefix struct prenorm::argument<prenorm::fast::Tensor<std::int64_t>>;                \
  prefix struct prenorm::argument<std::optional<prenorm::fast::Tensor<std::int64_t>>>; \
  prefix struct prenorm::argument<std::optional<prenorm::fast::Tensor<bool>>>;
PRENORM_ALL_TENSORS(extern template)

namespace prenorm {

/// Tells the textbook loop the element type of a call: 16-bit types compute in float32 too.
template <class T>
void tell_textbook() {
  fast::textbook::tf32_products = fast::textbook::tf32_solution && std::is_same_v<T, float>;
  fast::textbook::to_16_bits = nullptr;
  if constexpr (sizeof(T) == 2) {
    fast::textbook::to_16_bits = [](float value) {
      return static_cast<float>(static_cast<T>(value));
    };
  }
}

/// Calls a function of the textbook loop in the forms of the field.
inline int in_field_forms(prenorm_function function, const prenorm_call* call) {
  fast::textbook::field_forms = true;
  const int returned = function(call);
  fast::textbook::field_forms = false;
  return returned;
}

}  // namespace prenorm

/// As PRENORM_EXPORT of prenorm.hpp, and tells the textbook loop the element type.
#define PRENORM_EXPORT_FAST(problem, function)                                                \
  PRENORM_INSTANCES(template, function)                                                       \
  extern "C" PRENORM_API int prenorm_##problem(const prenorm_call* call) {                    \
    const fast::MemoryForResult memory = memory_of_output(*call);                             \
    return detail::run<double, float, float16, bfloat16>(call,                                \
                                                         []<class T>(std::type_identity<T>) { \
                                                           tell_textbook<T>();                \
                                                           return &function<T>;               \
                                                         });                                  \
  }

/// Its variant `field`.
#define PRENORM_EXPORT_FIELD(problem)                                               \
  extern "C" PRENORM_API int prenorm_##problem##__field(const prenorm_call* call) { \
    return in_field_forms(prenorm_##problem, call);                                 \
  }
