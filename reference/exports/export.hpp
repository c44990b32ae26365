// Turns the function templates of a room, reference/ or reference/fast/, into the functions of a
// library. PRENORM_TEXT, defined for the former, and the include path say which.
//
// Each file of this folder compiles the templates of one component, and declares as compiled
// elsewhere what it takes from other components: a change of one component then recompiles that one
// and a few calls. (Where all are compiled as one source, nothing is elsewhere.)
#pragma once

#include <prenorm/prenorm.hpp>

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

// What PRENORM_EXPORT(problem, function) makes of a component's function: in `honest` the variants
// of the one that `plain` exports, else prenorm_PROBLEM, called as its room needs it.
//
// PRENORM_EXPORT_FIELD_FORMS(problem) adds, in `plain`, the variant `field`: the same loop in the
// forms that PyTorch and published kernels compute by, for problems where these round more.
#undef PRENORM_EXPORT
#undef PRENORM_EXPORT_FIELD_FORMS
#if defined(PRENORM_HONEST_VARIANTS)
#include "../honest/variants_of_every_problem.hpp"
#define PRENORM_EXPORT(problem, function) PRENORM_EXPORT_VARIANTS(problem, function)
#elif defined(PRENORM_TEXT)
#include "text.hpp"
#define PRENORM_EXPORT(problem, function) PRENORM_EXPORT_TEXT(problem, function)
#else
#include "fast.hpp"
#define PRENORM_EXPORT(problem, function) PRENORM_EXPORT_FAST(problem, function)
#endif
#if defined(PRENORM_PLAIN) && !defined(PRENORM_HONEST_VARIANTS)
#define PRENORM_EXPORT_FIELD_FORMS(problem) PRENORM_EXPORT_FIELD(problem)
#else
#define PRENORM_EXPORT_FIELD_FORMS(problem)
#endif

namespace prenorm {
#if defined(PRENORM_TEXT)
namespace room = reference;
#else
namespace room = fast;
#endif
}  // namespace prenorm
