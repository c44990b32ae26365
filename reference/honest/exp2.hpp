// Softmax by exp2.
#pragma once

#include "honest.hpp"

namespace prenorm::honest {

inline constexpr double log2_e = 1.4426950408889634074;

/// The number that a softmax subtracts: the maximum, or 0 for a slice of -inf only.
template <class C>
C finite_maximum(C maximum) {
  return maximum == -std::numeric_limits<C>::infinity() ? C(0) : maximum;
}

/// softmax(scale * scores) of one row in place, by exp2 with the scale folded into one FMA.
/// Returns the sum; the row is not yet divided by it.
template <class C>
C exp2_row(C* scores, std::size_t n, C scale) {
  const C factor = scale * static_cast<C>(log2_e);
  const C maximum = finite_maximum(*std::max_element(scores, scores + n));
  C sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    sum += scores[j] = std::exp2(std::fma(scores[j], factor, -maximum * factor));
  }
  return sum;
}

}  // namespace prenorm::honest
