// Honest variants: other ways to compute the same, each as right as the reference.
//
// C is the type that computes (float, or double for float64), T the call's element type; inputs
// come widened to C and the result is rounded to T when it is stored.
#pragma once

#include "../softmax.hpp"
#include "../transformer_block.hpp"
#include "../widened.hpp"

namespace prenorm::honest {

using reference::compute_t;
using reference::Tensor;
using Mask = std::optional<Tensor<bool>>;
using Positions = std::optional<Tensor<std::int64_t>>;

template <class T>
using Wide = Tensor<compute_t<T>>;

/// Every element as T holds it.
template <class T, class C>
Tensor<C> rounded(Tensor<C> x) {
  for (C& value : x) value = static_cast<C>(static_cast<T>(value));
  return x;
}

/// 1/sqrt and a product, for a division by the root.
template <class T>
Wide<T> rmsnorm_rsqrt(const Wide<T>& x, const Wide<T>& weight, double eps) {
  using C = compute_t<T>;
  const std::size_t d_model = weight.size();
  Tensor<C> y = x;
  for (std::size_t row = 0; row * d_model < x.size(); ++row) {
    C* a = y.data() + row * d_model;
    const C sum = std::inner_product(a, a + d_model, a, C(0));
    const C inverse = 1 / std::sqrt(sum / static_cast<C>(d_model) + static_cast<C>(eps));
    for (std::size_t i = 0; i < d_model; ++i) a[i] = a[i] * inverse * weight.data()[i];
  }
  return y;
}

inline constexpr double log2_e = 1.4426950408889634074;

/// What a softmax subtracts: the maximum, but 0 for a slice of -inf only.
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

/// Calls row(slice, n) with each slice along dim, gathered; what it leaves is put back.
template <class C, class Row>
Tensor<C> each_slice(const Tensor<C>& x, std::int64_t dim, Row row) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  reference::require(dim >= -axes && dim < axes, "softmax: dim is no axis of x");
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  std::size_t inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  const std::size_t n = x.shape(axis);
  Tensor<C> y = x;
  std::vector<C> slice(n);
  for (std::size_t first = 0; first < x.size(); ++first) {
    if (first / inner % n != 0) continue;
    for (std::size_t j = 0; j < n; ++j) slice[j] = x.data()[first + j * inner];
    row(slice.data(), n);
    for (std::size_t j = 0; j < n; ++j) y.data()[first + j * inner] = slice[j];
  }
  return y;
}

template <class T>
Wide<T> softmax_exp2(const Wide<T>& x, std::int64_t dim) {
  using C = compute_t<T>;
  return each_slice<C>(x, dim, [](C* slice, std::size_t n) {
    // A slice of -inf only must give NaN, and NaN must not hide behind the maximum.
    const bool nan = std::any_of(slice, slice + n, [](C a) { return std::isnan(a); });
    const C maximum = *std::max_element(slice, slice + n);
    const C sum =
        nan || std::isinf(maximum) ? std::numeric_limits<C>::quiet_NaN() : exp2_row(slice, n, C(1));
    for (std::size_t j = 0; j < n; ++j) slice[j] /= sum;
  });
}

/// One pass for maximum and sum together, the sum rescaled whenever the maximum grows.
template <class T>
Wide<T> softmax_online(const Wide<T>& x, std::int64_t dim) {
  using C = compute_t<T>;
  constexpr C infinity = std::numeric_limits<C>::infinity();
  return each_slice<C>(x, dim, [](C* slice, std::size_t n) {
    C maximum = -infinity, sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const C a = slice[j];
      if (a > maximum) {
        sum = sum * std::exp(maximum - a) + std::exp(a - a);  // a - a: NaN for infinity
        maximum = a;
      } else if (a != -infinity) {
        sum += std::exp(a - maximum);
      }
    }
    for (std::size_t j = 0; j < n; ++j) slice[j] = std::exp(slice[j] - maximum) / sum;
  });
}

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

/// Probabilities rounded to T before they meet v, as tensor cores take them.
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
  return reference::each_sequence<C>(
      q, k, v, mask,
      [](const C* queries, const C* keys, const C* values, const bool* allowed, C* y, std::size_t n,
         std::size_t m, std::size_t d_k, std::size_t d_v) {
        reference::require(m > 0 && d_k > 0, "attention: d_k or m is 0, nothing to sum over");
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

// The composed problems with such an attention; every result that section "meaning" of the
// contract names is rounded to T.

template <class Softmax, class T>
Tensor<compute_t<T>> heads(const Tensor<compute_t<T>>& q, const Tensor<compute_t<T>>& k,
                           const Tensor<compute_t<T>>& v, const Tensor<compute_t<T>>& w_o,
                           const Positions& token_positions, std::int64_t num_heads,
                           const std::optional<std::pair<double, std::int64_t>>& rope) {
  using C = compute_t<T>;
  const auto shape = q.shape();
  const std::size_t seq = shape[shape.size() - 2], d_model = shape.back();
  const auto count = static_cast<std::size_t>(num_heads);
  if (num_heads < 1 || d_model % count != 0) {
    throw std::invalid_argument("d_model is not divisible by num_heads");
  }
  const std::size_t d_k = d_model / count, batch = q.size() == 0 ? 0 : q.size() / (seq * d_model);
  Tensor<std::int64_t> positions = xt::arange<std::int64_t>(static_cast<std::int64_t>(seq));
  if (token_positions) positions = *token_positions;
  auto leading = shape;
  leading.pop_back();
  positions = Tensor<std::int64_t>(xt::broadcast(positions, leading));
  positions.reshape({batch, std::size_t{1}, seq});

  const auto split = [&](Tensor<C> x, bool turn) {
    x.reshape({batch, seq, count, d_k});
    Tensor<C> parts = xt::transpose(x, {0, 2, 1, 3});
    if (!turn || !rope) return parts;
    return rounded<T>(reference::rope<C>(parts, positions, rope->first, rope->second));
  };
  auto causal = Tensor<bool>::from_shape({seq, seq});
  for (std::size_t i = 0; i < seq * seq; ++i) causal.data()[i] = i % seq <= i / seq;
  Tensor<C> y =
      rounded<T, C>(attention<Softmax, T>(split(q, true), split(k, true), split(v, false), causal));
  y = Tensor<C>(xt::transpose(y, {0, 2, 1, 3}));
  y.reshape(shape);
  return reference::linear<C>(y, w_o);
}

template <class Softmax, class T>
Wide<T> multihead(const Wide<T>& x, const Wide<T>& w_q, const Wide<T>& w_k, const Wide<T>& w_v,
                  const Wide<T>& w_o, std::int64_t num_heads) {
  using C = compute_t<T>;
  return heads<Softmax, T>(
      rounded<T>(reference::linear<C>(x, w_q)), rounded<T>(reference::linear<C>(x, w_k)),
      rounded<T>(reference::linear<C>(x, w_v)), w_o, std::nullopt, num_heads, std::nullopt);
}

template <class Softmax, class T>
Wide<T> multihead_with_rope(const Wide<T>& x, const Wide<T>& w_q, const Wide<T>& w_k,
                            const Wide<T>& w_v, const Wide<T>& w_o,
                            const Positions& token_positions, std::int64_t num_heads, double theta,
                            std::int64_t max_seq_len) {
  using C = compute_t<T>;
  const Tensor<C> all = reference::with_batch_of(x, token_positions);
  return heads<Softmax, T>(rounded<T>(reference::linear<C>(all, w_q)),
                           rounded<T>(reference::linear<C>(all, w_k)),
                           rounded<T>(reference::linear<C>(all, w_v)), w_o, token_positions,
                           num_heads, std::pair(theta, max_seq_len));
}

template <class Softmax, class T>
Wide<T> multihead_fused_qkv(const Wide<T>& x, const Wide<T>& w_qkv, const Wide<T>& w_o,
                            std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1);
  reference::require(w_qkv.shape(0) == 3 * d, "w_qkv must have 3 d_model rows");
  const auto part = [&](std::size_t i) {
    return Wide<T>(xt::view(w_qkv, xt::range(i * d, (i + 1) * d), xt::all()));
  };
  return multihead<Softmax, T>(x, part(0), part(1), part(2), w_o, num_heads);
}

template <class Softmax, class T>
Wide<T> block(const Wide<T>& x, const Wide<T>& ln1, const Wide<T>& w_q, const Wide<T>& w_k,
              const Wide<T>& w_v, const Wide<T>& w_o, const Wide<T>& ln2, const Wide<T>& w1,
              const Wide<T>& w2, const Wide<T>& w3, std::int64_t num_heads, double theta,
              std::int64_t max_seq_len, double eps) {
  using C = compute_t<T>;
  const Tensor<C> normed = rounded<T>(reference::rmsnorm<C>(x, ln1, eps));
  const Tensor<C> attended = rounded<T, C>(multihead_with_rope<Softmax, T>(
      normed, w_q, w_k, w_v, w_o, std::nullopt, num_heads, theta, max_seq_len));
  const Tensor<C> y = rounded<T, C>(x + attended);
  return y + reference::ffn_swiglu<C>(reference::rmsnorm<C>(y, ln2, eps), w1, w2, w3);
}

}  // namespace prenorm::honest
