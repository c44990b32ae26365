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

}  // namespace prenorm::mistakes

/// Exports a mistake: prenorm_<problem>__<mistake>.
#define EXPORT_MISTAKE(name, ...) \
  PRENORM_EXPORT_FUNCTION(name, prenorm::reference::Widening<&__VA_ARGS__>::call)
