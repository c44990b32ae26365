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

/// Attention where hide(score) stands for the score of a key that a query must not attend to. All
/// else is right: a query that attends to nothing gives zeros.
template <class Hide>
Wide hidden_by(const Wide& q, const Wide& k, const Wide& v, const Mask& mask, Hide hide) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return attend(q, k, v, mask, [&](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    for (std::size_t i = 0; i < n; ++i, s += m, allowed += m) {
      const auto counts = [&](std::size_t j) { return allowed[j] && s[j] != -infinity; };
      bool any = false;
      for (std::size_t j = 0; j < m; ++j) any = any || counts(j);
      for (std::size_t j = 0; j < m; ++j) s[j] = !any ? 0 : allowed[j] ? s[j] : hide(s[j]);
      if (any) softmax_in_place(s, m, 1);
    }
  });
}

// Finite numbers for -infinity: they show where the scores that count are lower still.

inline Wide sentinel_minus_50(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return hidden_by(q, k, v, mask, [](double) { return -50; });
}
inline Wide sentinel_minus_1e4(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return hidden_by(q, k, v, mask, [](double) { return -1e4; });
}
inline Wide sentinel_minus_1e9(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return hidden_by(q, k, v, mask, [](double) { return -1e9; });
}

/// A large negative number added to a score, which it should replace.
inline Wide minus_1e4_added(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return hidden_by(q, k, v, mask, [](double score) { return score - 1e4; });
}

/// -inf minus a maximum of -inf: a query that attends to nothing gives NaN.
inline Wide empty_rows_nan(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend(q, k, v, mask, [](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    mask_out(s, allowed, n * m);
    for (std::size_t i = 0; i < n; ++i) softmax_in_place(s + i * m, m, 1);
  });
}

/// Attention whose scores are rounded to T.
inline Wide scores_in_t(const Element& t, const Wide& q, const Wide& k, const Wide& v,
                        const Mask& mask) {
  t.require_16_bit();
  return attend(q, k, v, mask, [&](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    for (std::size_t i = 0; i < n * m; ++i) s[i] = t.round(s[i]);
    mask_out(s, allowed, n * m);
    for (double* row = s; row < s + n * m; row += m) {
      if (*std::max_element(row, row + m) == -std::numeric_limits<double>::infinity()) {
        std::fill_n(row, m, 0.0);
      } else {
        softmax_in_place(row, m, 1);
      }
    }
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

/// Attention with the caller's own softmax of one row of m scores, -infinity where hidden. A row
/// that is -infinity throughout gives zeros.
template <class Row>
Wide attend_by_rows(const Wide& q, const Wide& k, const Wide& v, const Mask& mask, Row row) {
  return attend(q, k, v, mask, [&](double* s, const bool* allowed, std::size_t n, std::size_t m) {
    mask_out(s, allowed, n * m);
    for (double* scores = s; scores < s + n * m; scores += m) {
      const bool empty = std::all_of(scores, scores + m, [](double score) {
        return score == -std::numeric_limits<double>::infinity();
      });
      if (empty) {
        std::fill_n(scores, m, 0.0);
      } else {
        row(scores, m);
      }
    }
  });
}

/// In one pass over tiles of 64 keys: where a query sees none of the first tile,
/// -infinity minus -infinity is NaN.
inline Wide empty_tile_nan(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend_by_rows(q, k, v, mask, [](double* s, std::size_t m) {
    const double* first = std::max_element(s, s + std::min<std::size_t>(m, 64));
    if (*first == -std::numeric_limits<double>::infinity()) {
      std::fill_n(s, m, std::numeric_limits<double>::quiet_NaN());
    } else {
      softmax_in_place(s, m, 1);
    }
  });
}

/// A query takes no tile of 64 keys after the first that it sees nothing of.
inline Wide stops_at_empty_tile(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return attend_by_rows(q, k, v, mask, [](double* s, std::size_t m) {
    std::size_t end = 0;
    while (end < m) {
      const std::size_t next = std::min<std::size_t>(end + 64, m);
      if (std::all_of(s + end, s + next, [](double score) { return score == -infinity; })) break;
      end = next;
    }
    std::fill(s + end, s + m, -infinity);
    if (end == 0) {
      std::fill_n(s, m, 0.0);
    } else {
      softmax_in_place(s, m, 1);
    }
  });
}

/// The maximum of the first 64 keys only: larger scores overflow in the compute type.
inline Wide maximum_of_first_tile(const Element& t, const Wide& q, const Wide& k, const Wide& v,
                                  const Mask& mask) {
  return attend_by_rows(q, k, v, mask, [&](double* s, std::size_t m) {
    const double maximum = *std::max_element(s, s + std::min<std::size_t>(m, 64));
    const double shift = std::isfinite(maximum) ? maximum : 0;
    double sum = 0;
    for (std::size_t j = 0; j < m; ++j) {
      s[j] = exp_in(t, s[j] - shift);
      sum += s[j];
    }
    for (std::size_t j = 0; j < m; ++j) s[j] /= sum;
  });
}

/// Scores bounded by 50 tanh(s / 50), as Gemma 2 has them.
inline Wide scores_capped(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  return attend_by_rows(q, k, v, mask, [](double* s, std::size_t m) {
    for (std::size_t j = 0; j < m; ++j) s[j] = std::isinf(s[j]) ? s[j] : 50 * std::tanh(s[j] / 50);
    softmax_in_place(s, m, 1);
  });
}

/// No more than 128 components of a query and a key.
inline Wide first_128_of_d_k(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  const std::size_t d_k = q.shape().back();
  Tensor<double> cut = q;
  for (std::size_t i = 0; i < cut.size(); ++i) cut.data()[i] *= i % d_k < 128 ? 1 : 0;
  return reference::scaled_dot_product_attention<double>(cut, k, v, mask);
}

/// A mask with fewer batch axes taken for one mask a sequence, and not one a head.
inline Wide mask_of_each_sequence(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  if (!mask || mask->size() == 0) {
    return reference::scaled_dot_product_attention<double>(q, k, v, mask);
  }
  reference::Batch batch;
  batch.join(q, 2), batch.join(k, 2), batch.join(v, 2), batch.join(*mask, 2);
  const std::size_t n = mask->shape(mask->dimension() - 2), m = mask->shape().back();
  const std::size_t masks = mask->size() / (n * m);
  auto all = Tensor<bool>::from_shape(batch.with({n, m}));
  for (std::size_t b = 0; b < batch.size(); ++b) {
    std::copy_n(mask->data() + b * masks / batch.size() * n * m, n * m, all.data() + b * n * m);
  }
  return reference::scaled_dot_product_attention<double>(q, k, v, all);
}

/// The products with v added up in T, 16 keys at a time.
inline Wide values_added_in_t(const Element& t, const Wide& q, const Wide& k, const Wide& v,
                              const Mask& mask) {
  t.require_16_bit();
  return reference::each_sequence<double>(
      q, k, v, mask,
      [&](const double* queries, const double* keys, const double* values, const bool* allowed,
          double* y, std::size_t n, std::size_t m, std::size_t d_k, std::size_t d_v) {
        std::vector<double> s(m);
        for (std::size_t i = 0; i < n; ++i) {
          const double* a = queries + i * d_k;
          for (std::size_t j = 0; j < m; ++j) {
            s[j] = std::inner_product(a, a + d_k, keys + j * d_k, 0.0) /
                   std::sqrt(static_cast<double>(d_k));
          }
          mask_out(s.data(), allowed + i * m, m);
          if (*std::max_element(s.begin(), s.end()) == -std::numeric_limits<double>::infinity()) {
            continue;
          }
          softmax_in_place(s.data(), m, 1);
          for (std::size_t c = 0; c < d_v; ++c) {
            double part = 0;
            for (std::size_t j = 0; j < m; ++j) {
              part += s[j] * values[j * d_v + c];
              if (j % 16 != 15 && j + 1 != m) continue;
              y[i * d_v + c] = t.round(y[i * d_v + c] + part);
              part = 0;
            }
          }
        }
      });
}

}  // namespace prenorm::mistakes::attention
