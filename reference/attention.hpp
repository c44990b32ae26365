// Scaled dot-product attention.
#pragma once

#include "tensor.hpp"

namespace prenorm::reference {

/// The formula, for one sequence:  y = softmax(q kᵀ / sqrt(d_k)) v
///
/// q[n, d_k], k[m, d_k], v[m, d_v], mask[n, m] (true: the query attends to the key) -> y[n, d_v]
template <class C>
Tensor<C> attend(const Tensor<C>& q, const Tensor<C>& k, const Tensor<C>& v,
                 const Tensor<bool>& mask) {
  constexpr C infinity = std::numeric_limits<C>::infinity();
  const C scale = std::sqrt(static_cast<C>(size(k, -1)));
  const Tensor<C> scores = xt::linalg::dot(q, xt::transpose(k)) / scale;  // step: scores, scale
  const Tensor<C> visible = xt::where(mask, scores, -infinity);           // step: mask
  const Tensor<C> largest = xt::amax(visible, {-1}, xt::keep_dims);       // step: maximum
  // Of a query that attends to no key, the largest is the lowest number, where xt::amax begins. So
  // every weight is exp(-infinity) = 0, and the result is 0.
  const Tensor<C> e = xt::exp(visible - largest);                      // step: weights
  const Tensor<C> sum = xt::sum(e, {-1}, xt::keep_dims);               // step: weights
  const Tensor<C> total = xt::where(xt::equal(sum, C(0)), C(1), sum);  // step: weights
  const Tensor<C> weights = e / total;                                 // step: weights
  return xt::linalg::dot(weights, v);                                  // step: values
}

/// Scaled dot-product attention:  y = softmax(q kᵀ / sqrt(d_k)) v
///
/// A query attends to the keys where mask is true, to all without a mask; a query that attends to
/// none, or whose scores are all -infinity, gives zeros.
///
/// Source   Vaswani et al. 2017, arXiv:1706.03762, eq. 1; CS336 2025, eq. 11 and "Masking"
/// Shapes   q[..., n, d_k], k[..., m, d_k], v[..., m, d_v], mask[..., n, m] -> y[..., n, d_v]
/// Types    any T; scores, probabilities and sums in float32 for 16-bit types, rounded at the end
/// Errors   std::invalid_argument if the shapes do not fit, or d_k or m is 0 and y is not empty
/// Values   a product of q and k beyond 3.4e38 (1.8e308 in float64) is infinite before it is
///          scaled, as in the formula: -infinity counts as masked, +infinity gives NaN. What is not
///          finite in a key or value that a query does not attend to gives NaN or a number: which
///          of them is not specified. Here it is NaN for a value, as 0 times it, and a number for a
///          key
/// Twins    cuda/attention.cu  fixtures/scaled_dot_product_attention.h5
///          tests/reference/test_attention.cpp
///          notebooks/attention.ipynb
template <class T>
Tensor<T> scaled_dot_product_attention(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                                       const std::optional<Tensor<bool>>& mask = std::nullopt) {
  const std::string what = "scaled_dot_product_attention: ";
  require(q.dimension() >= 2 && k.dimension() >= 2 && v.dimension() >= 2, what,
          "q, k and v must have two axes and may have batch axes before them");
  const std::size_t n = size(q, -2), d_k = size(q, -1), m = size(k, -2), d_v = size(v, -1);
  require(size(k, -1) == d_k, what, "k must be [..., m, ", d_k, "], is ", k.shape());
  require(size(v, -2) == m, what, "v must be [..., ", m, ", d_v], is ", v.shape());
  const Tensor<bool> seen = mask ? *mask : Tensor<bool>(xt::ones<bool>({n, m}));
  require(seen.dimension() >= 2 && size(seen, -2) == n && size(seen, -1) == m, what,
          "mask must be [..., ", n, ", ", m, "], is ", seen.shape());
  const Shape batch =
      broadcast("scaled_dot_product_attention",
                {batch_of(q, 2), batch_of(k, 2), batch_of(v, 2), batch_of(seen, 2)});
  const Shape shape = with(batch, {n, d_v});
  if (elements(shape) == 0) return empty<T>(shape);
  require(d_k > 0 && m > 0, what, (m > 0 ? "d_k" : "m"), " is 0, there is nothing to sum over");

  using C = compute_t<T>;
  const Tensor<C> wide_q = widen(q), wide_k = widen(k), wide_v = widen(v);
  auto y = empty<C>({elements(batch), n, d_v});
  for (std::size_t b = 0; b < elements(batch); ++b) {
    xt::view(y, b) = attend(matrix_at(b, batch, wide_q), matrix_at(b, batch, wide_k),
                            matrix_at(b, batch, wide_v), matrix_at(b, batch, seen));
  }
  return narrow<T>(reshape(y, shape));
}

}  // namespace prenorm::reference
