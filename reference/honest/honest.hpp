// What the honest variants share: other ways to compute the same, each as correct as the reference.
//
// C is the compute type (float, or double for float64), T the call's element type; inputs come
// widened to C, and the result is rounded to T when it is stored.
#pragma once

#include "../exports/widened.hpp"

namespace prenorm::honest {

using fast::compute_t;
using fast::Tensor;
using Mask = std::optional<Tensor<bool>>;
using Positions = std::optional<Tensor<std::int64_t>>;

template <class T>
using Wide = Tensor<compute_t<T>>;

/// Every element rounded to T.
template <class T, class C>
Tensor<C> rounded(Tensor<C> x) {
  for (C& value : x) value = static_cast<C>(static_cast<T>(value));
  return x;
}

}  // namespace prenorm::honest

/// Exports a function template of T whose tensors are Wide<T>.
#define EXPORT_VARIANT(name, ...)                                                    \
  extern "C" PRENORM_API int prenorm_##name(const prenorm_call* call) {              \
    return prenorm::detail::run<double, float, prenorm::float16, prenorm::bfloat16>( \
        call, []<class T>(std::type_identity<T>) {                                   \
          return &prenorm::fast::Widening<&__VA_ARGS__>::call;                       \
        });                                                                          \
  }
