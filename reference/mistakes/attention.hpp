// Known mistakes of reference/attention.hpp.
#pragma once

#include "../fast/attention.hpp"
#include "mistakes.hpp"
#include "softmax.hpp"

#include <optional>

namespace prenorm::mistakes::attention {

using Mask = std::optional<Tensor<bool>>;
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// What scores or weights are divided by.
struct Widths {
  std::size_t d_k, d_v, d_model;  // d_model is d_k where there is one head
};
using Divisor = double (*)(const Widths& of);
inline double one(const Widths&) { return 1; }
inline double root_of_d_k(const Widths& of) { return std::sqrt(static_cast<double>(of.d_k)); }

/// What a score becomes.
using Score = double (*)(double score);
inline double as_it_is(double score) { return score; }
inline double minus_infinity(double) { return -infinity; }

/// What is added to the sum of exponentials, by the maximum.
using Addend = double (*)(double maximum);

enum class Reading { as_given, not_at_all, the_other_way, by_columns };

/// The steps of attention; the defaults are right.
struct Steps : AnySteps {
  bool exchanges_q_and_k = false;
  std::size_t most_components = std::numeric_limits<std::size_t>::max();  // of a query and a key
  Divisor scores_by = root_of_d_k, weights_by = one;
  bool rounds_scores = false;  // to T
  bool caps_scores = false;
  Reading mask = Reading::as_given;
  bool mask_for_each_sequence = false;              // and not for each head
  Score shown = as_it_is, hidden = minus_infinity;  // a score that counts, and one that does not
  bool empty_rows_are_0 = true;                     // a row is empty if no score of it counts
  bool normalizes = true;                           // by a softmax
  bool over_queries = false;                        // not over keys
  bool hides_weights = false;                       // sets them to 0 where scores do not count
  bool nan_if_first_tile_is_empty = false, stops_at_tile_that_is_empty = false;
  bool maximum_in_first_tile = false;  // a larger score overflows, in the compute type
  Addend added_to_sum = nullptr;       // of exponentials
  bool divides = true;                 // or else the sum's logarithm is subtracted
  bool rounds_sums = false;            // of them, to T
  bool rounds_result = false;          // after every 16 keys, to T

  bool operator==(const Steps&) const = default;
};

/// Keys that are taken together by an algorithm of one pass.
inline constexpr std::size_t tile = 64;

inline bool is_empty(const double* scores, std::size_t count) {
  return std::all_of(scores, scores + count, [](double score) { return score == -infinity; });
}

/// Softmax of n scores, stride elements apart, in place.
inline void normalize(const Steps& steps, const Element& t, double* s, std::size_t n,
                      std::size_t stride) {
  // step: maximum
  double maximum = -infinity, sum = 0;
  const std::size_t searched = steps.maximum_in_first_tile ? std::min(n, tile) : n;
  for (std::size_t j = 0; j < searched; ++j) maximum = std::max(maximum, s[j * stride]);
  if (steps.maximum_in_first_tile && !std::isfinite(maximum)) maximum = 0;
  // step: weights
  if (!steps.divides) {
    for (std::size_t j = 0; j < n; ++j) sum += std::exp(s[j * stride] - maximum);
    return softmax::subtract_logarithm(t, {s, n, stride}, maximum, sum);
  }
  for (std::size_t j = 0; j < n; ++j) {
    double& value = s[j * stride];
    value -= maximum;
    value = steps.maximum_in_first_tile ? exp_in(t, value) : std::exp(value);
    sum = steps.rounds_sums ? t.round(sum + value) : sum + value;
  }
  if (steps.added_to_sum) sum += steps.added_to_sum(maximum);
  for (std::size_t j = 0; j < n; ++j) s[j * stride] /= sum;
}

/// A row of m scores, some of them hidden, becomes weights.
inline void weigh_row(const Steps& steps, const Element& t, double* s, std::size_t m) {
  // step: maximum
  if (steps.nan_if_first_tile_is_empty && is_empty(s, std::min(m, tile))) {
    std::fill_n(s, m, std::numeric_limits<double>::quiet_NaN());
  }
  if (steps.stops_at_tile_that_is_empty) {
    std::size_t end = 0;
    while (end < m && !is_empty(s + end, std::min(tile, m - end))) end = std::min(m, end + tile);
    std::fill(s + end, s + m, end == 0 ? 0.0 : -infinity);
    if (end == 0) return;
  }
  // step: weights
  normalize(steps, t, s, m, 1);
}

/// The scores of a sequence, n rows of m, become weights.
inline void weigh(const Steps& steps, const Element& t, double* s, const bool* allowed,
                  std::size_t n, std::size_t m) {
  std::vector<bool> empty(n, steps.empty_rows_are_0);  // step: mask
  for (std::size_t i = 0; i < n * m; ++i) {
    // step: scores
    if (steps.rounds_scores) s[i] = t.round(s[i]);
    if (steps.caps_scores && !std::isinf(s[i])) s[i] = 50 * std::tanh(s[i] / 50);
    // step: mask
    if (allowed[i] && s[i] != -infinity) empty[i / m] = false;
    s[i] = allowed[i] ? steps.shown(s[i]) : steps.hidden(s[i]);
  }
  // step: weights
  if (!steps.normalizes) return;
  for (std::size_t j = 0; steps.over_queries && j < m; ++j) normalize(steps, t, s + j, n, m);
  for (std::size_t i = 0; i < n; ++i) {
    if (empty[i]) {
      std::fill_n(s + i * m, m, 0.0);
    } else if (!steps.over_queries) {
      weigh_row(steps, t, s + i * m, m);
    }
  }
}

/// The mask as it is read: [n, m] for each sequence.
inline Mask read_as(const Steps& steps, const Mask& mask) {
  // step: mask
  if (!mask || steps.mask == Reading::as_given) return mask;
  if (steps.mask == Reading::not_at_all) return Tensor<bool>(xt::ones<bool>(mask->shape()));
  if (steps.mask == Reading::the_other_way) return Tensor<bool>(!*mask);
  const std::size_t n = mask->shape().back();
  if (mask->shape(mask->dimension() - 2) != n) throw not_implemented("only for square masks");
  Tensor<bool> transposed = *mask;
  for (std::size_t i = 0; i < mask->size(); ++i) {
    transposed.data()[i] = mask->data()[i / (n * n) * n * n + i % n * n + i / n % n];
  }
  return transposed;
}

/// A mask with fewer batch axes taken for one mask a sequence, and not one a head.
inline Mask for_each_sequence(const Wide& q, const Wide& k, const Wide& v, const Mask& mask) {
  if (!mask || mask->size() == 0) return mask;
  fast::Batch batch;
  batch.join(q, 2), batch.join(k, 2), batch.join(v, 2), batch.join(*mask, 2);
  const std::size_t n = mask->shape(mask->dimension() - 2), m = mask->shape().back();
  const std::size_t masks = mask->size() / (n * m);
  auto all = Tensor<bool>::from_shape(batch.with({n, m}));
  for (std::size_t b = 0; b < batch.size(); ++b) {
    std::copy_n(mask->data() + b * masks / batch.size() * n * m, n * m, all.data() + b * n * m);
  }
  return all;
}

/// Attention of heads that are d_model wide together.
inline Wide attend(const Steps& steps, const Element& t, const Wide& q, const Wide& k,
                   const Wide& v, const Mask& mask, std::size_t d_model) {
  const auto sequence = [&](const double* queries, const double* keys, const double* values,
                            const bool* allowed, double* y, std::size_t n, std::size_t m,
                            std::size_t d_k, std::size_t d_v) {
    const Widths widths{d_k, d_v, d_model};
    // step: scores, scale
    std::vector<double> weights(n * m);
    for (std::size_t i = 0; i < n * m; ++i) {
      const double *a = queries + i / m * d_k, *b = keys + i % m * d_k;
      weights[i] = std::inner_product(a, a + std::min(d_k, steps.most_components), b, 0.0) /
                   steps.scores_by(widths);
    }
    // step: mask, weights
    weigh(steps, t, weights.data(), allowed, n, m);
    // step: values
    for (std::size_t i = 0; i < n * m; ++i) {
      if (steps.hides_weights && !allowed[i]) weights[i] = 0;  // step: mask
      weights[i] /= steps.weights_by(widths);                  // step: scale
      const std::size_t j = i % m;
      for (std::size_t c = 0; c < d_v; ++c) {
        double& sum = y[i / m * d_v + c];
        sum += weights[i] * values[j * d_v + c];
        if (steps.rounds_result && (j % 16 == 15 || j + 1 == m)) sum = t.round(sum);
      }
    }
  };
  // step: scores
  const Wide &first = steps.exchanges_q_and_k ? k : q, &second = steps.exchanges_q_and_k ? q : k;
  return fast::each_sequence<double>(first, second, v, mask, sequence);
}

inline Wide scaled_dot_product_attention(const Steps& steps, const Element& t, const Wide& q,
                                         const Wide& k, const Wide& v, const Mask& mask) {
  fast::require(q.dimension() >= 2 && k.dimension() >= 2 && v.dimension() >= 2,
                "scaled_dot_product_attention: q, k and v must have two axes");
  const std::size_t n = q.shape(q.dimension() - 2), m = k.shape(k.dimension() - 2);
  const std::size_t d_k = q.shape().back();
  fast::require(k.shape().back() == d_k && v.shape(v.dimension() - 2) == m,
                "scaled_dot_product_attention: k must be [..., m, d_k], and v [..., m, d_v]");
  if (mask) {
    fast::require(mask->dimension() >= 2 && mask->shape(mask->dimension() - 2) == n &&
                      mask->shape().back() == m,
                  "scaled_dot_product_attention: mask must be [..., n, m]");
  }
  if (steps.exchanges_q_and_k && n != m) throw not_implemented("only for as many queries as keys");
  // step: mask
  const Mask read = read_as(steps, mask);
  return attend(steps, t, q, k, v,
                steps.mask_for_each_sequence ? for_each_sequence(q, k, v, read) : read, d_k);
}

inline void q_and_k_exchanged(Steps& steps) { steps.exchanges_q_and_k = true; }

inline void not_scaled(Steps& steps) { steps.scores_by = one; }

inline void divided_by_d_k(Steps& steps) {
  steps.scores_by = [](const Widths& of) { return static_cast<double>(of.d_k); };
}

/// By the root of d_k, and by the root of d_k again.
inline void scaled_twice(Steps& steps) {
  steps.scores_by = [](const Widths& of) { return root_of_d_k(of) * root_of_d_k(of); };
}

inline void divided_by_sqrt_d_v(Steps& steps) {
  steps.scores_by = [](const Widths& of) { return std::sqrt(static_cast<double>(of.d_v)); };
}

/// The weights divided by the root of d_k, and not the scores.
inline void scaled_after_softmax(Steps& steps) {
  steps.scores_by = one;
  steps.weights_by = root_of_d_k;
}

/// The masked scores themselves for weights, -infinity among them.
inline void no_softmax(Steps& steps) { steps.normalizes = false; }

inline void softmax_over_queries(Steps& steps) { steps.over_queries = true; }

/// All keys for every query, whatever the mask says.
inline void mask_ignored(Steps& steps) { steps.mask = Reading::not_at_all; }

/// True read as "hide", as in PyTorch's key_padding_mask.
inline void mask_inverted(Steps& steps) { steps.mask = Reading::the_other_way; }

/// Rows read as columns, in a square mask.
inline void mask_transposed(Steps& steps) { steps.mask = Reading::by_columns; }

/// The mask added to the scores as 0 and 1.
inline void mask_added(Steps& steps) {
  steps.shown = [](double score) { return score + 1; };
  steps.hidden = as_it_is;
  steps.empty_rows_are_0 = false;
}

/// Masked after the softmax, and not renormalized.
inline void masked_after_softmax(Steps& steps) {
  steps.hidden = as_it_is;
  steps.hides_weights = true;
  steps.empty_rows_are_0 = false;
}

/// A score of 0 for what is hidden, which so has a weight: e^0 = 1.
inline void hidden_scores_zero(Steps& steps) {
  steps.hidden = [](double) { return 0.0; };
  steps.empty_rows_are_0 = false;
}

/// A large negative number for -inf: a query that attends to nothing averages all values.
inline void empty_rows_averaged(Steps& steps) {
  steps.hidden = [](double) { return -1e9; };
  steps.empty_rows_are_0 = false;
}

/// -inf minus a maximum of -inf: a query that attends to nothing gives NaN.
inline void empty_rows_nan(Steps& steps) { steps.empty_rows_are_0 = false; }

// Finite numbers for -infinity: they show where the scores that count are lower still. All else is
// right: a query that attends to nothing gives zeros.

inline void sentinel_minus_50(Steps& steps) {
  steps.hidden = [](double) { return -50.0; };
}
inline void sentinel_minus_1e4(Steps& steps) {
  steps.hidden = [](double) { return -1e4; };
}
inline void sentinel_minus_1e9(Steps& steps) {
  steps.hidden = [](double) { return -1e9; };
}

/// A large negative number added to a score, which it should replace.
inline void minus_1e4_added(Steps& steps) {
  steps.hidden = [](double score) { return score - 1e4; };
}

/// The same in the compute type, and in empty rows, too: to the digits that are left, they are
/// weighed as if nothing were hidden.
inline void minus_1e4_added_in_empty_rows(Steps& steps, const Element& t) {
  steps.empty_rows_are_0 = false;
  steps.hidden = [](double score) { return score - 1e4; };
  if (t.is<double>()) return;
  steps.hidden = [](double score) -> double { return static_cast<float>(score) - 1e4F; };
}

/// Attention whose scores are rounded to T.
inline void scores_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_scores = true;
}

/// exp(s - max) / (1 + sum).
inline void one_added_to_sum(Steps& steps) {
  steps.added_to_sum = [](double) { return 1.0; };
}

/// e^s / (1 + sum e^s): "softmax-one" (Miller 2023), as if there were a key of score 0 more.
inline void one_added_to_sum_of_e_x(Steps& steps) {
  steps.added_to_sum = [](double maximum) { return std::exp(-maximum); };
}

/// exp(s - log sum e^s).
inline void log_sum_exp_subtracted(Steps& steps, const Element& t) {
  require_shown(!t.is_16_bit());
  steps.divides = false;
}

/// The sum of exponentials rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_sums = true;
}

/// In one pass over tiles of 64 keys: where a query sees none of the first tile,
/// -infinity minus -infinity is NaN.
inline void empty_tile_nan(Steps& steps) { steps.nan_if_first_tile_is_empty = true; }

/// A query takes no tile of 64 keys after the first that it sees nothing of.
inline void stops_at_empty_tile(Steps& steps) { steps.stops_at_tile_that_is_empty = true; }

/// The maximum of the first 64 keys only: larger scores overflow in the compute type.
inline void maximum_of_first_tile(Steps& steps) { steps.maximum_in_first_tile = true; }

/// Scores bounded by 50 tanh(s / 50), as Gemma 2 has them.
inline void scores_capped(Steps& steps) { steps.caps_scores = true; }

/// No more than 128 components of a query and a key.
inline void first_128_of_d_k(Steps& steps) { steps.most_components = 128; }

/// A mask with fewer batch axes taken for one mask a sequence, and not one a head.
inline void mask_of_each_sequence(Steps& steps) { steps.mask_for_each_sequence = true; }

/// The products with v added up in T, 16 keys at a time.
inline void values_added_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_result = true;
}

}  // namespace prenorm::mistakes::attention
