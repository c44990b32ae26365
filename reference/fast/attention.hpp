// Scaled dot-product attention.
// Contracts: reference/attention.hpp
#pragma once

#include "batch.hpp"
#include "elementwise.hpp"
#include "field.hpp"
#include "sequences.hpp"

namespace prenorm::fast {

/// Computes the results that are NaN again, without the values that their query does not attend to.
/// For 0 times a value that is not finite is NaN, and which hidden values take part depends on the
/// other queries of the block.
template <class C>
void leave_out_hidden_values(const Sequence<C>& s, Matrix<const C> weights) {
  const std::size_t m = s.v.rows, d_v = s.v.columns;
  for (std::size_t i = 0; i < s.y.rows; ++i) {
    C* const y = s.y.row(i);
    if (std::none_of(y, y + d_v, [](C value) { return std::isnan(value); })) continue;
    std::vector<C> seen(m), values(m * d_v);
    s.hide(i, seen.data());
    for (std::size_t j = 0; j < m; ++j) {
      if (seen[j] == 0) std::copy_n(s.v.row(j), d_v, &values[j * d_v]);
    }
    multiply<C>(weights.part(i, 1), {values.data(), m, d_v, d_v}, s.y.part(i, 1));
  }
}

/// The formula, for one query or for many of the same sequence:  y = softmax(q kᵀ / sqrt(d_k)) v
///
/// A row of q[n, d_k], of weights[n, m] and of y[n, d_v] belongs to one query; all share the keys
/// k[m, d_k] and the values v[m, d_v].
template <class C>
void attend(const Sequence<C>& s) {
  constexpr C infinity = std::numeric_limits<C>::infinity();
  const std::size_t n = s.q.rows, m = s.k.rows, d_k = s.k.columns;
  const C scale = C(1) / std::sqrt(static_cast<C>(d_k));  // step: scale
  Memory<C> memory(n * m);
  const Matrix<C> weights{memory.data(), n, m, m};

  if (is_textbook && textbook::field_forms) {
    textbook::weights_as_in_kernels<C>(s, weights);
    multiply<C>(weights, s.v, s.y);
    return leave_out_hidden_values<C>(s, weights);
  }
  multiply_transposed<C>(s.q, s.k, weights);  // step: scores
  for (std::size_t i = 0; i < n; ++i) {
    auto weight = row_view(weights.row(i), m);
    // step: mask
    s.hide(i, weight.data());  // sets the score to -infinity
    // step: maximum
    const C largest = maximum(weight);
    // step: weights
    // If all keys are masked, every weight is exp(-infinity) = 0, and so is the result.
    xt::noalias(weight) =
        fast::exp((weight - (largest == -infinity ? C(0) : largest)) * scale);  // step: scale
    const C sum = total(weight);
    weight /= sum == 0 ? C(1) : sum;
  }
  multiply<C>(weights, s.v, s.y);  // step: values
  leave_out_hidden_values<C>(s, weights);
}

/// Scaled dot-product attention:  y = softmax(q kᵀ / sqrt(d_k)) v
///
/// A query attends to the keys where mask is true, to all without a mask; a query that attends to
/// none, or whose scores are all -infinity, gives zeros.
template <class T>
Tensor<T> scaled_dot_product_attention(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                                       const std::optional<Tensor<bool>>& mask = std::nullopt) {
  const std::string what = "scaled_dot_product_attention: ";
  require(q.dimension() >= 2 && k.dimension() >= 2 && v.dimension() >= 2, what,
          "q, k and v must have two axes and may have batch axes before them");
  const std::size_t n = q.shape(q.dimension() - 2), d_k = q.shape().back();
  const std::size_t m = k.shape(k.dimension() - 2), d_v = v.shape().back();
  require(k.shape().back() == d_k, what, "k must be [..., m, ", d_k, "], is ", k.shape());
  require(v.shape(v.dimension() - 2) == m, what, "v must be [..., ", m, ", d_v], is ", v.shape());
  Batch batch("scaled_dot_product_attention");
  batch.join(q, 2, "q");
  batch.join(k, 2, "k");
  batch.join(v, 2, "v");
  if (mask) {
    require(mask->dimension() >= 2 && mask->shape(mask->dimension() - 2) == n &&
                mask->shape().back() == m,
            what, "mask must be [..., ", n, ", ", m, "], is ", mask->shape());
    batch.join(*mask, 2, "mask");
  }
  using C = compute_t<T>;
  auto y = empty<C>(batch.with({n, d_v}));
  if (y.size() == 0) return narrow<T>(std::move(y));
  require(d_k > 0 && m > 0, what, (m > 0 ? "d_k" : "m"), " is 0, there is nothing to sum over");

  const Tensor<C>&wide_q = widen(q), &wide_k = widen(k), &wide_v = widen(v);
  const auto sequence = [&](std::size_t b) {
    return Sequence<C>{
        .q = {wide_q.data() + batch.part(q, 2, b) * n * d_k, n, d_k, d_k},
        .k = {wide_k.data() + batch.part(k, 2, b) * m * d_k, m, d_k, d_k},
        .v = {wide_v.data() + batch.part(v, 2, b) * m * d_v, m, d_v, d_v},
        .y = {y.data() + b * n * d_v, n, d_v, d_v},
        .mask = {mask ? mask->data() + batch.part(*mask, 2, b) * n * m : nullptr, n, m, m}};
  };
  share_out(batch.size(), n, sequence, attend<C>);
  return narrow<T>(std::move(y));
}

}  // namespace prenorm::fast
