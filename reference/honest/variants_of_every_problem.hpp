// The honest variants that every problem has: sums in each order, and float32 or float64 inside,
// so that nothing between input and output is rounded to T.
//
// The solution `honest` compiles exports/ with this header, and takes the functions themselves from
// the object files of `plain`.
#pragma once

#include "../exports/widened.hpp"

namespace prenorm::honest {

/// Calls a function of `plain` while its sums go by `order`. Tensor cores take 16-bit types only:
/// what they make of floats is tf32, a mode of its own.
inline int with_order(fast::textbook::SumOrder order, prenorm_function function,
                      const prenorm_call* call) {
  if (order == fast::textbook::SumOrder::tensor_cores &&
      (call->num_outputs < 1 || call->outputs[0]->dtype.bits != 16)) {
    return prenorm::detail::guard(call,
                                  [] { throw not_implemented("tensor cores take 16-bit types"); });
  }
  const auto before = std::exchange(fast::textbook::sum_order, order);
  const int returned = function(call);
  fast::textbook::sum_order = before;
  return returned;
}

}  // namespace prenorm::honest

#define HONEST_ORDER(problem, order)                                                     \
  extern "C" PRENORM_API int prenorm_##problem##__##order(const prenorm_call* call) {    \
    return honest::with_order(fast::textbook::SumOrder::order, prenorm_##problem, call); \
  }
#define PRENORM_EXPORT_VARIANTS(problem, function)                                           \
  PRENORM_COMPILED_ELSEWHERE(function)                                                       \
  extern "C" int prenorm_##problem(const prenorm_call* call);                                \
  HONEST_ORDER(problem, ascending)                                                           \
  HONEST_ORDER(problem, reversed)                                                            \
  HONEST_ORDER(problem, pairwise)                                                            \
  HONEST_ORDER(problem, kahan)                                                               \
  HONEST_ORDER(problem, fma)                                                                 \
  HONEST_ORDER(problem, tensor_cores)                                                        \
  PRENORM_EXPORT_FUNCTION(problem##__float32_inside, fast::Widening<&function<float>>::call) \
  PRENORM_EXPORT_FUNCTION(problem##__float64_inside, fast::Widening<&function<double>>::call)
