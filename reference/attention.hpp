// Scaled dot-product attention.
#pragma once

#include "sums.hpp"

namespace prenorm::reference {

/// Which keys a query attends to: those that a boolean matrix says, or all up to its own index.
struct AttentionMask {
  const bool* allowed = nullptr;  // [n, m]; nullptr: every key
  bool causal = false;            // key j only for queries i >= j

  /// Keys that query i may look at are below this index.
  std::size_t end(std::size_t i, std::size_t m) const { return causal ? std::min(i + 1, m) : m; }
};

/// Attention of one sequence:  y = softmax(q kᵀ / sqrt(d_k)) v,  q[n, d_k], k[m, d_k], v[m, d_v].
///
/// Rows may lie any stride apart, so that a head is a slice of its columns and never a copy.
template <class C>
void attend(Matrix<const C> q, Matrix<const C> k, Matrix<const C> v, const AttentionMask& mask,
            Matrix<C> y) {
  constexpr C infinity = std::numeric_limits<C>::infinity();
  constexpr std::size_t block = 128;  // queries at once: memory grows with m, not with n m
  const C scale = C(1) / std::sqrt(static_cast<C>(q.columns));
  const std::size_t m = k.rows;
  std::vector<C> memory(std::min(block, q.rows) * m);

  for (std::size_t first = 0; first < q.rows; first += block) {
    const std::size_t count = std::min(block, q.rows - first);
    const std::size_t end = mask.end(first + count - 1, m);  // no query here looks further
    const Matrix<C> scores{memory.data(), count, end, m};
    multiply_transposed<C>({q.row(first), count, q.columns, q.stride},
                           {k.data, end, k.columns, k.stride}, scores);

    parallel_for(count, count * end, [&](std::size_t row) {
      C* s = scores.row(row);
      const std::size_t i = first + row, visible = mask.end(i, m);
      for (std::size_t j = 0; j < end; ++j) {
        const bool attends = j < visible && (mask.allowed == nullptr || mask.allowed[i * m + j]);
        s[j] = attends ? s[j] * scale : -infinity;
      }
      const C largest = maximum(s, end);
      auto weights = row_view(s, end);
      // Without a key to attend to every weight is exp(-infinity) = 0, and so is the result.
      weights = xt::exp(weights - (largest == -infinity ? C(0) : largest));
      const C sum = total(weights);
      weights *= sum == 0 ? C(0) : C(1) / sum;
    });
    multiply<C>({scores.data, count, end, m}, {v.data, end, v.columns, v.stride},
                {y.row(first), count, y.columns, y.stride});
  }
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
/// Twins    fixtures/scaled_dot_product_attention.h5  tests/test_attention.cpp
template <class T>
Tensor<T> scaled_dot_product_attention(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                                       const std::optional<Tensor<bool>>& mask = std::nullopt) {
  const std::string what = "scaled_dot_product_attention: ";
  require(q.dimension() >= 2 && k.dimension() >= 2 && v.dimension() >= 2,
          what + "q, k and v must have two axes and may have batch axes before them");
  const std::size_t n = q.shape(q.dimension() - 2), d_k = q.shape().back();
  const std::size_t m = k.shape(k.dimension() - 2), d_v = v.shape().back();
  require(k.shape().back() == d_k, what + "k must be [..., m, " + std::to_string(d_k) + "], is " +
                                       to_text(k.shape()));
  require(v.shape(v.dimension() - 2) == m,
          what + "v must be [..., " + std::to_string(m) + ", d_v], is " + to_text(v.shape()));
  Batch batch;
  batch.join(q, 2);
  batch.join(k, 2);
  batch.join(v, 2);
  if (mask) {
    require(mask->dimension() >= 2 && mask->shape(mask->dimension() - 2) == n &&
                mask->shape().back() == m,
            what + "mask must be [..., " + std::to_string(n) + ", " + std::to_string(m) +
                "], is " + to_text(mask->shape()));
    batch.join(*mask, 2);
  }
  using C = compute_t<T>;
  auto y = empty<C>(batch.with({n, d_v}));
  if (y.size() == 0) return narrow<T>(std::move(y));
  require(d_k > 0 && m > 0, what + (m > 0 ? "d_k" : "m") + " is 0, there is nothing to sum over");

  const Tensor<C> wide_q = widen(q), wide_k = widen(k), wide_v = widen(v);
  for (std::size_t b = 0; b < batch.size(); ++b) {
    attend<C>({wide_q.data() + batch.part(q, 2, b) * n * d_k, n, d_k, d_k},
              {wide_k.data() + batch.part(k, 2, b) * m * d_k, m, d_k, d_k},
              {wide_v.data() + batch.part(v, 2, b) * m * d_v, m, d_v, d_v},
              {.allowed = mask ? mask->data() + batch.part(*mask, 2, b) * n * m : nullptr},
              {y.data() + b * n * d_v, n, d_v, d_v});
  }
  return narrow<T>(std::move(y));
}

}  // namespace prenorm::reference
