// Turns the reference's function templates into the functions of a library.
//
// Each file of this folder compiles the templates of one component, and declares as compiled
// elsewhere what it takes from other components: a change of one component then recompiles that one
// and a few calls. (Where all are compiled as one source, nothing is elsewhere.) The solutions
// `reference`, `plain` and `plain-tf32` are made of these files, and so are the honest variants
// that every problem has (honest/variants_of_every_problem.hpp).
#pragma once

#include "../sums.hpp"

#include <prenorm/prenorm.hpp>

#include <type_traits>

/// Instances of a function template for all element types: `prefix` is `template` to compile them
/// here, `extern template` where another file does.
#define PRENORM_INSTANCES(prefix, function)             \
  prefix decltype(function<double>) function<double>;   \
  prefix decltype(function<float>) function<float>;     \
  prefix decltype(function<float16>) function<float16>; \
  prefix decltype(function<bfloat16>) function<bfloat16>;
#if defined(PRENORM_EXPORTS_AS_ONE)
#define PRENORM_COMPILED_ELSEWHERE(function)
#else
#define PRENORM_COMPILED_ELSEWHERE(function) PRENORM_INSTANCES(extern template, function)
#endif

// How tensors come and go is the same for all problems: solution.cpp compiles it.
#define PRENORM_TENSORS(prefix, T)                                \
  prefix struct prenorm::argument<prenorm::reference::Tensor<T>>; \
  prefix struct prenorm::result<prenorm::reference::Tensor<T>>;
#define PRENORM_ALL_TENSORS(prefix)                                                         \
  PRENORM_TENSORS(prefix, double)                                                           \
  PRENORM_TENSORS(prefix, float)                                                            \
  PRENORM_TENSORS(prefix, prenorm::float16)                                                 \
  PRENORM_TENSORS(prefix, prenorm::bfloat16)                                                \
  prefix struct prenorm::argument<prenorm::reference::Tensor<std::int64_t>>;                \
  prefix struct prenorm::argument<std::optional<prenorm::reference::Tensor<std::int64_t>>>; \
  prefix struct prenorm::argument<std::optional<prenorm::reference::Tensor<bool>>>;
PRENORM_ALL_TENSORS(extern template)

#if defined(PRENORM_HONEST_VARIANTS)
#include "../honest/variants_of_every_problem.hpp"
#else

#define PRENORM_COMPILED_HERE(function) PRENORM_INSTANCES(template, function)

/// As in prenorm.hpp, and tells the textbook loop whether products take part in tf32. (16-bit types
/// compute in float32 too, so the products themselves cannot tell.)
#undef PRENORM_EXPORT
#define PRENORM_EXPORT(problem, function)                                     \
  PRENORM_COMPILED_HERE(function)                                             \
  extern "C" PRENORM_API int prenorm_##problem(const prenorm_call* call) {    \
    const reference::MemoryForResult memory = memory_of_output(*call);        \
    return detail::run<double, float, float16, bfloat16>(                     \
        call, []<class T>(std::type_identity<T>) {                            \
          reference::textbook::tf32_products =                                \
              reference::textbook::tf32_solution && std::is_same_v<T, float>; \
          return &function<T>;                                                \
        });                                                                   \
  }

#endif
