// Known mistakes of reference/linear.hpp.
#pragma once

#include "../fast/linear.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::linear {

/// The steps of a linear layer; the defaults are right.
struct Steps : AnySteps {
  bool weight_as_stored = true;     // [d_out, d_in]; or else read as [d_in, d_out]
  std::size_t terms_in_a_tile = 0;  // sums are rounded to T after each; 0: never
  bool rounds_products = false;     // to T
  bool leaves_out_zeros = false;
  std::size_t most_terms = std::numeric_limits<std::size_t>::max();
  std::size_t most_rows = std::numeric_limits<std::size_t>::max();
  bool flushes_subnormals = false;

  bool operator==(const Steps&) const = default;
};

/// The product of two rows of n numbers.
inline double dot(const Steps& steps, const Element& t, const double* a, const double* w,
                  std::size_t n) {
  // step: sum of products
  double sum = 0, in_tile = 0;
  n = std::min(n, steps.most_terms);
  for (std::size_t i = 0; i < n; ++i) {
    if (steps.leaves_out_zeros && (a[i] == 0 || w[i] == 0)) continue;
    in_tile += steps.rounds_products ? t.round(a[i] * w[i]) : a[i] * w[i];
    if (steps.terms_in_a_tile > 0 && ((i + 1) % steps.terms_in_a_tile == 0 || i + 1 == n)) {
      sum = t.round(sum + in_tile);
      in_tile = 0;
    }
  }
  return steps.terms_in_a_tile > 0 ? sum : in_tile;
}

inline Wide linear(const Steps& steps, const Element& t, const Wide& given_x,
                   const Wide& given_weight) {
  fast::require(given_weight.dimension() == 2 && given_x.dimension() >= 1 &&
                    given_x.shape().back() == given_weight.shape(1),
                "linear: x must be [..., d_in], and weight [d_out, d_in]");
  // step: widen
  const Wide& x = steps.flushes_subnormals ? flushed(t, given_x) : given_x;
  Wide weight = steps.flushes_subnormals ? flushed(t, given_weight) : given_weight;
  const std::size_t d_out = weight.shape(0), d_in = weight.shape(1);
  // step: sum of products
  if (!steps.weight_as_stored) {
    weight.reshape({d_in, d_out});
    weight = Wide(xt::transpose(weight));
  }

  auto shape = x.shape();
  shape.back() = d_out;
  auto y = Wide::from_shape(shape);
  fast::require(d_in > 0 || y.size() == 0, "linear: d_in is 0");
  // step: sum of products
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double *a = x.data() + i / d_out * d_in, *w = weight.data() + i % d_out * d_in;
    y.data()[i] = i / d_out < steps.most_rows ? dot(steps, t, a, w, d_in) : 0;
  }
  // step: round once
  return steps.flushes_subnormals ? flushed(t, std::move(y)) : y;
}

/// y = x W: the weight is stored [d_out, d_in], but read as [d_in, d_out].
inline void not_transposed(Steps& steps) { steps.weight_as_stored = false; }

/// y = x Wᵀ with every partial sum rounded to T.
inline void sums_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.terms_in_a_tile = 1;
}

/// Sums of 64 terms are right, but added up in T: tiles accumulated in the output itself.
inline void tiles_added_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.terms_in_a_tile = 64;
}

/// Each product rounded to T before it is added.
inline void products_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_products = true;
}

/// Terms with a factor 0 left out: 0 times infinity no longer is NaN.
inline void zeros_skipped(Steps& steps) { steps.leaves_out_zeros = true; }

/// No more than 1024 terms: what one block of threads takes.
inline void first_1024_terms(Steps& steps) { steps.most_terms = 1024; }

/// Rows beyond the first tile of 128 are never computed.
inline void one_tile_of_rows(Steps& steps) { steps.most_rows = 128; }

/// Not a mistake in bfloat16: processors' own products of that type flush subnormals.
inline void subnormals_flushed(Steps& steps, const Element& t) {
  require_shown(!t.is<bfloat16>());
  steps.flushes_subnormals = true;
}

}  // namespace prenorm::mistakes::linear
