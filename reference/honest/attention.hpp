// Honest variants of attention: other ways to take its softmax.
#pragma once

#include "exp2.hpp"

namespace prenorm::honest {

// Attention. Each takes one sequence: raw scores, which of them count, the values, one output row.

struct Exp2 {
  template <class T, class C>
  static void row(C* scores, const C* values, C* y, std::size_t m, std::size_t d_v, C scale) {
    const C sum = exp2_row(scores, m, scale);
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t c = 0; c < d_v; ++c) y[c] += scores[j] * values[j * d_v + c];
    }
    for (std::size_t c = 0; c < d_v; ++c) y[c] = sum == 0 ? C(0) : y[c] / sum;
  }
};

/// Blocks of 16 keys; maximum, sum and output rescaled after each, as FlashAttention does.
struct Online {
  template <class T, class C>
  static void row(C* scores, const C* values, C* y, std::size_t m, std::size_t d_v, C scale) {
    constexpr std::size_t block = 16;
    C maximum = -std::numeric_limits<C>::infinity(), sum = 0;
    for (std::size_t first = 0; first < m; first += block) {
      const std::size_t last = std::min(m, first + block);
      C grown = maximum;
      for (std::size_t j = first; j < last; ++j) {
        scores[j] *= scale;
        grown = std::max(grown, scores[j]);
      }
      const C shift = finite_maximum(grown), keep = std::exp(maximum - shift);
      sum *= keep;
      for (std::size_t c = 0; c < d_v; ++c) y[c] *= keep;
      for (std::size_t j = first; j < last; ++j) {
        const C weight = std::exp(scores[j] - shift);
        sum += weight;
        for (std::size_t c = 0; c < d_v; ++c) y[c] += weight * values[j * d_v + c];
      }
      maximum = grown;
    }
    for (std::size_t c = 0; c < d_v; ++c) y[c] = sum == 0 ? C(0) : y[c] / sum;
  }
};

/// Probabilities rounded to T before the product with v, as for tensor cores.
struct RoundedProbabilities {
  template <class T, class C>
  static void row(C* scores, const C* values, C* y, std::size_t m, std::size_t d_v, C scale) {
    for (std::size_t j = 0; j < m; ++j) scores[j] *= scale;
    const C maximum = finite_maximum(*std::max_element(scores, scores + m));
    C sum = 0;
    for (std::size_t j = 0; j < m; ++j) sum += scores[j] = std::exp(scores[j] - maximum);
    for (std::size_t j = 0; j < m; ++j) {
      const C weight = static_cast<C>(static_cast<T>(scores[j]));
      for (std::size_t c = 0; c < d_v; ++c) y[c] += weight * values[j * d_v + c];
    }
    for (std::size_t c = 0; c < d_v; ++c) y[c] = sum == 0 ? C(0) : y[c] / sum;
  }
};

template <class Softmax, class T>
Wide<T> attention(const Wide<T>& q, const Wide<T>& k, const Wide<T>& v, const Mask& mask) {
  using C = compute_t<T>;
  return fast::each_sequence<C>(
      q, k, v, mask,
      [](const C* queries, const C* keys, const C* values, const bool* allowed, C* y, std::size_t n,
         std::size_t m, std::size_t d_k, std::size_t d_v) {
        fast::require(m > 0 && d_k > 0, "attention: d_k or m is 0, nothing to sum over");
        const C scale = 1 / std::sqrt(static_cast<C>(d_k));
        std::vector<C> scores(m);
        for (std::size_t i = 0; i < n; ++i) {
          bool nan = false;
          for (std::size_t j = 0; j < m; ++j) {
            const C* a = queries + i * d_k;
            scores[j] = allowed[i * m + j] ? std::inner_product(a, a + d_k, keys + j * d_k, C(0))
                                           : -std::numeric_limits<C>::infinity();
            nan = nan || std::isnan(scores[j]);
          }
          Softmax::template row<T>(scores.data(), values, y + i * d_v, m, d_v, scale);
          // The maximum of a row may miss a NaN; the output must not.
          if (nan) std::fill_n(y + i * d_v, d_v, std::numeric_limits<C>::quiet_NaN());
        }
      });
}

}  // namespace prenorm::honest

/// Exports a problem with each of these softmaxes.
#define EXPORT_SOFTMAXES(problem, function)              \
  EXPORT_VARIANT(problem##__exp2, function<Exp2, T>)     \
  EXPORT_VARIANT(problem##__online, function<Online, T>) \
  EXPORT_VARIANT(problem##__rounded_probabilities, function<RoundedProbabilities, T>)

/// Instances of such a function; `prefix` is `template`, or `extern template` where another file
/// has them.
#define SOFTMAX_INSTANCES(prefix, function, softmax)                                        \
  prefix decltype(function<softmax, double>) function<softmax, double>;                     \
  prefix decltype(function<softmax, float>) function<softmax, float>;                       \
  prefix decltype(function<softmax, prenorm::float16>) function<softmax, prenorm::float16>; \
  prefix decltype(function<softmax, prenorm::bfloat16>) function<softmax, prenorm::bfloat16>;
#define ALL_SOFTMAX_INSTANCES(prefix, function) \
  SOFTMAX_INSTANCES(prefix, function, Exp2)     \
  SOFTMAX_INSTANCES(prefix, function, Online)   \
  SOFTMAX_INSTANCES(prefix, function, RoundedProbabilities)
