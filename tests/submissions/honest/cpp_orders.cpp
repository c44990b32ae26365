// Less common, and as right: other orders of summation, a product with 1/sqrt for a division by the
// root, exp2 with the scale folded in, and a softmax of one pass.
#include <prenorm/prenorm.hpp>

#include <cmath>
#include <limits>
#include <vector>

using prenorm::View;
using Size = std::int64_t;

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

namespace {

constexpr double log2_e = 1.4426950408889634;

/// sum of term(i) over [from, to), by halves.
template <class Term>
auto pairwise(Size from, Size to, Term term) -> decltype(term(from)) {
  if (to - from == 1) return term(from);
  const Size middle = from + (to - from) / 2;
  return pairwise(from, middle, term) + pairwise(middle, to, term);
}

/// From the last to the first, with what rounding dropped carried along (Kahan).
template <class R, class Term>
R compensated_from_the_end(Size n, Term term) {
  R sum = 0, lost = 0;
  for (Size i = n - 1; i >= 0; --i) {
    const R next = term(i) - lost, larger = sum + next;
    lost = (larger - sum) - next;
    if (!std::isfinite(lost)) lost = 0;  // infinity - infinity
    sum = larger;
  }
  return sum;
}

/// softmax(factor * scores) by exp2, whose factor holds log2(e), in one pass. The factor is folded
/// into an FMA: a rounded product of scores near 1000 would be off by more than a weight may be.
template <class R>
struct Online {
  R factor;
  R maximum = -std::numeric_limits<R>::infinity(), centre = maximum, sum = 0;

  R weight(R score) const { return std::exp2(std::fma(score, factor, -centre)); }

  /// What everything summed so far must be multiplied with, now that `score` is seen.
  R see(R score) {
    R rescaled = 1;
    if (score > maximum) {
      const R before = centre;
      maximum = score;
      centre = maximum * factor;
      rescaled = std::exp2(before - centre);
    }
    sum = sum * rescaled + weight(score);
    return rescaled;
  }
};

}  // namespace

template <class T>
void linear(View<const T> x, View<const T> weight, View<T> y) {
  const Size d_out = weight.shape(0), d_in = weight.shape(1);
  if (d_in == 0 && y.size() > 0) throw std::invalid_argument("linear: d_in is 0");
  for (Size i = 0; i < y.size(); ++i) {
    y[i] = T(pairwise(0, d_in, [&](Size j) {
      return Real<T>(x[i / d_out * d_in + j]) * Real<T>(weight[i % d_out * d_in + j]);
    }));
  }
}

template <class T>
void rmsnorm(View<const T> x, View<const T> weight, double eps, View<T> y) {
  using R = Real<T>;
  const Size d_model = weight.size();
  for (Size row = 0; row < x.size(); row += d_model) {
    const R squares =
        compensated_from_the_end<R>(d_model, [&](Size j) { return R(x[row + j]) * R(x[row + j]); });
    const R inverse = 1 / std::sqrt(squares / R(d_model) + R(eps));
    for (Size j = 0; j < d_model; ++j) y[row + j] = T(R(x[row + j]) * inverse * R(weight[j]));
  }
}

template <class T>
void silu(View<const T> x, View<T> y) {
  using R = Real<T>;
  for (Size i = 0; i < x.size(); ++i) {
    y[i] = T(R(x[i]) / (1 + std::exp2(-R(x[i]) * R(log2_e))));
  }
}

/// One pass over a slice for maximum and sum, a second that divides.
template <class T>
void softmax(View<const T> x, Size dim, View<T> y) {
  using R = Real<T>;
  const auto axes = static_cast<Size>(x.dimension());
  if (dim < -axes || dim >= axes) throw std::invalid_argument("softmax: dim is no axis of x");
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  Size inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  const Size n = x.shape(axis);
  for (Size first = 0; first < x.size(); ++first) {
    if (first / inner % n != 0) continue;
    R maximum = -std::numeric_limits<R>::infinity(), sum = 0;
    for (Size j = 0; j < n; ++j) {
      const R a = R(x[first + j * inner]);
      if (a > maximum) {
        sum = sum * std::exp(maximum - a) + std::exp(a - a);
        maximum = a;
      } else if (a != -std::numeric_limits<R>::infinity()) {
        sum += std::exp(a - maximum);
      }
    }
    for (Size j = 0; j < n; ++j) {
      y[first + j * inner] = T(std::exp(R(x[first + j * inner]) - maximum) / sum);
    }
  }
}

/// Each query meets the keys one by one; what it has summed is rescaled when the maximum grows.
template <class T>
void scaled_dot_product_attention(View<const T> q, View<const T> k, View<const T> v,
                                  std::optional<View<const bool>> mask, View<T> y) {
  using R = Real<T>;
  const std::size_t axes = q.dimension();
  const Size n = q.shape(axes - 2), d_k = q.shape(axes - 1);
  const Size m = k.shape(k.dimension() - 2), d_v = v.shape(v.dimension() - 1);
  if (y.size() == 0) return;
  if (d_k == 0 || m == 0) throw std::invalid_argument("attention: a sum over nothing");
  const Size batch = y.size() / (n * d_v);
  // The part of a tensor that belongs to batch element b: its own batch axes broadcast.
  const auto part = [&](auto& tensor, Size b) {
    const std::size_t own = tensor.dimension() - 2, whole = y.dimension() - 2;
    Size index = 0, step = 1;
    for (std::size_t back = 1; back <= whole; ++back) {
      const Size extent = y.shape(whole - back), i = b % extent;
      b /= extent;
      if (back > own) continue;
      if (tensor.shape(own - back) > 1) index += i * step;
      step *= tensor.shape(own - back);
    }
    return index;
  };
  const R factor = R(log2_e) / std::sqrt(R(d_k));
  std::vector<R> sums(static_cast<std::size_t>(d_v));
  for (Size b = 0; b < batch; ++b) {
    const T* const qs = q.data() + part(q, b) * n * d_k;
    const T* const ks = k.data() + part(k, b) * m * d_k;
    const T* const vs = v.data() + part(v, b) * m * d_v;
    const bool* const masks = mask ? mask->data() + part(*mask, b) * n * m : nullptr;
    for (Size i = 0; i < n; ++i) {
      Online<R> online{factor};
      std::fill(sums.begin(), sums.end(), R(0));
      for (Size j = 0; j < m; ++j) {
        if (masks != nullptr && !masks[i * m + j]) continue;
        const R score =
            pairwise(0, d_k, [&](Size c) { return R(qs[i * d_k + c]) * R(ks[j * d_k + c]); });
        if (score == -std::numeric_limits<R>::infinity()) continue;  // weighs nothing
        const R rescaled = online.see(score), weight = online.weight(score);
        for (Size c = 0; c < d_v; ++c) {
          R& sum = sums[static_cast<std::size_t>(c)];
          sum = sum * rescaled + weight * R(vs[j * d_v + c]);
        }
      }
      for (Size c = 0; c < d_v; ++c) {
        const R sum = sums[static_cast<std::size_t>(c)];
        y[(b * n + i) * d_v + c] = T(online.sum == 0 ? R(0) : sum / online.sum);
      }
    }
  }
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(linear, linear)
PRENORM_EXPORT(rmsnorm, rmsnorm)
PRENORM_EXPORT(silu, silu)
PRENORM_EXPORT(softmax, softmax)
PRENORM_EXPORT(scaled_dot_product_attention, scaled_dot_product_attention)
