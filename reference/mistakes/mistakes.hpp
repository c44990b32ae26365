// Common parts of the known mistakes.
//
// A mistake is recognized by what it computes, not by how it rounds, so each is written once, in
// float64. A mistake of rounding (sums accumulated in T) has a parameter for the call's Element.
#pragma once

#include "../widened.hpp"

namespace prenorm::mistakes {

using reference::Element;
using reference::sum_in;
using reference::Tensor;
using Wide = Tensor<double>;  // for every type of the call: see widened.hpp

/// Zeros for subnormal numbers of T.
inline Wide flushed(const Element& t, Wide x) {
  const double smallest = t.is<double>() ? 0x1p-1022 : t.is<float16>() ? 0x1p-14 : 0x1p-126;
  for (double& value : x) value = std::abs(value) < smallest ? 0 : value;
  return x;
}

/// e^a in the compute type: infinite above, and 0 below, what that can hold.
inline double exp_in(const Element& t, double a) {
  if (a > (t.is<double>() ? 709.78 : 88.72)) return std::numeric_limits<double>::infinity();
  return a < (t.is<double>() ? -745.2 : -103.98) ? 0 : std::exp(a);
}

/// What is computed stays 0 from element `first` on, as if later blocks were never launched.
inline Wide only_before(std::size_t first, Wide y) {
  for (std::size_t i = first; i < y.size(); ++i) y.data()[i] = 0;
  return y;
}

}  // namespace prenorm::mistakes

/// Exports a mistake: prenorm_<problem>__<mistake>.
#define EXPORT_MISTAKE(name, ...) \
  PRENORM_EXPORT_FUNCTION(name, prenorm::reference::Widening<&__VA_ARGS__>::call)
