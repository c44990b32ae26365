// What the known mistakes share.
//
// A mistake is told by what it computes, not by how it rounds, so each is written once, in float64.
// Where a mistake is one of rounding (sums accumulated in T), it asks for the call's Element.
#pragma once

#include "../widened.hpp"

namespace prenorm::mistakes {

using reference::Element;
using reference::sum_in;
using reference::Tensor;
using Wide = Tensor<double>;  // whatever the call's type is: see widened.hpp

}  // namespace prenorm::mistakes
