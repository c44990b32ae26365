// Comparison of a computed output with the expected one.
#pragma once

#include "fixture.hpp"
#include "verdict.hpp"

namespace prenorm::harness {

/// Compares element by element; mismatches == 0 is a pass.
///
/// `actual` has the type and shape that the signature gives; `expected` is float64 of that shape.
/// An element passes when |y - e| <= atol + rtol |e|, written so that NaN fails. Where e is NaN, y
/// must be NaN; where e is infinite, y must be the same infinity; where e rounded to y's type
/// overflows, that infinity passes too.
OutputReport compare(const std::string& name, const Tensor& actual, const Tensor& expected,
                     const Tolerance& tolerance);

/// What is said of one element: whether it passes, and |y - e| in units in the last place of
/// `dtype` at e. Where either is not finite: 0 where it passes, infinity where it does not.
struct ElementReport {
  bool passes = false;
  double ulps = 0;
};
ElementReport compare_element(DType dtype, double actual, double expected,
                              const Tolerance& tolerance);

/// One line for a person: how many elements miss, and the worst with index, both values and bound.
std::string explain(const OutputReport& report, DType dtype);

}  // namespace prenorm::harness
