// Known mistakes of reference/attention.hpp.
#pragma once

#include "../attention.hpp"
#include "mistakes.hpp"

#include <optional>

namespace prenorm::mistakes::attention {

using Mask = std::optional<Tensor<bool>>;

/// Attention with the caller's own softmax: `weigh` turns the scores of one sequence, n rows of m,
/// and which of them count, into weights, in place.
template <class Weigh>
Wide attend(const Wide& q, const Wide& k, const Wide& v, const Mask& mask, Weigh weigh) {
  return reference::each_sequence<double>(
      q, k, v, mask,
      [&](const double* queries, const double* keys, const double* values, const bool* allowed,
          double* y, std::size_t n, std::size_t m, std::size_t d_k, std::size_t d_v) {
        std::vector<double> weights(n * m);
        for (std::size_t i = 0; i < n * m; ++i) {
          const double* a = queries + i / m * d_k;
          weights[i] = std::inner_product(a, a + d_k, keys + i % m * d_k, 0.0) /
                       std::sqrt(static_cast<double>(d_k));
        }
        weigh(weights.data(), allowed, n, m);
        for (std::size_t i = 0; i < n * m; ++i) {
          for (std::size_t c = 0; c < d_v; ++c) {
            y[i / m * d_v + c] += weights[i] * values[i % m * d_v + c];
          }
        }
      });
}

/// Softmax of `count` scores, `stride` elements apart.
inline void softmax_in_place(double* scores, std::size_t count, std::size_t stride) {
  double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t j = 0; j < count; ++j) maximum = std::max(maximum, scores[j * stride]);
  for (std::size_t j = 0; j < count; ++j) {
    sum += scores[j * stride] = std::exp(scores[j * stride] - maximum);
  }
  for (std::size_t j = 0; j < count; ++j) scores[j * stride] /= sum;
}

inline void mask_out(double* scores, const bool* allowed, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!allowed[i]) scores[i] = -std::numeric_limits<double>::infinity();
  }
}

inline Wide scaled_by(double factor, const Wide& q, const Wide& k, const Wide& v,
                      const Mask& mask) {
  return reference::scaled_dot_product_attention<double>(Tensor<double>(q * factor), k, v, mask);
}
inline double root(const Wide& x) { return std::sqrt(static_cast<double>(x.shape().back())); }

inline Wide not_scaled(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return scaled_by(root(q), q, k, v, mask);
}
inline Wide divided_by_d_k(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return scaled_by(1 / root(q), q, k, v, mask);
}
inline Wide divided_by_sqrt_d_v(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return scaled_by(root(q) / root(v), q, k, v, mask);
}

/// True read as "hide", as in PyTorch's key_padding_mask.
inline Wide mask_inverted(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return reference::scaled_dot_product_attention<double>(
      q, k, v, mask ? Mask(Tensor<bool>(!*mask)) : std::nullopt);
}

inline Wide softmax_over_queries(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend(q, k, v, mask, [](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    mask_out(s, allowed, n * m);
    for (std::size_t j = 0; j < m; ++j) softmax_in_place(s + j, n, m);
  });
}

/// The mask added to the scores as 0 and 1.
inline Wide mask_added(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend(q, k, v, mask, [](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    for (std::size_t i = 0; i < n * m; ++i) s[i] += allowed[i] ? 1 : 0;
    for (std::size_t i = 0; i < n; ++i) softmax_in_place(s + i * m, m, 1);
  });
}

/// Masked after the softmax, and not renormalized.
inline Wide masked_after_softmax(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend(q, k, v, mask, [](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    for (std::size_t i = 0; i < n; ++i) softmax_in_place(s + i * m, m, 1);
    for (std::size_t i = 0; i < n * m; ++i) s[i] = allowed[i] ? s[i] : 0;
  });
}

/// A large negative number for -inf: a query that attends to nothing averages all values.
inline Wide empty_rows_averaged(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend(q, k, v, mask, [](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    for (std::size_t i = 0; i < n * m; ++i) s[i] = allowed[i] ? s[i] : -1e9;
    for (std::size_t i = 0; i < n; ++i) softmax_in_place(s + i * m, m, 1);
  });
}

/// -inf minus a maximum of -inf: a query that attends to nothing gives NaN.
inline Wide empty_rows_nan(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend(q, k, v, mask, [](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    mask_out(s, allowed, n * m);
    for (std::size_t i = 0; i < n; ++i) softmax_in_place(s + i * m, m, 1);
  });
}

/// The sum of exponentials rounded to T at each step.
inline Wide sums_in_t(const Element& t, const Wide& q, const Wide& k, const Wide& v,
                      const Mask& mask) {
  t.require_16_bit();
  return attend(q, k, v, mask, [&](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    mask_out(s, allowed, n * m);
    for (double* row = s; row < s + n * m; row += m) {
      const double maximum = *std::max_element(row, row + m);
      if (maximum == -std::numeric_limits<double>::infinity()) {
        std::fill_n(row, m, 0.0);
        continue;
      }
      for (std::size_t j = 0; j < m; ++j) row[j] = std::exp(row[j] - maximum);
      const double sum = sum_in(t, m, [&](std::size_t j) { return row[j]; });
      for (std::size_t j = 0; j < m; ++j) row[j] /= sum;
    }
  });
}

}  // namespace prenorm::mistakes::attention
