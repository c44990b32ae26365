// Softmax, rotary positions, and attention.
#pragma once

#include "layers.hpp"

template <class T>
Tensor<T> softmax(const Tensor<T>& x, Size dim) {
  require(dim >= -x.axes() && dim < x.axes(), "softmax: dim is no axis of x");
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + x.axes() : dim);
  const Size n = x.shape()[axis];
  Size inner = 1;  // elements from one of a slice to the next
  for (std::size_t after = axis + 1; after < x.shape().size(); ++after) inner *= x.shape()[after];
  Tensor<T> y = x;
  for (Size first = 0; first < x.size(); ++first) {
    if (first / inner % n != 0) continue;  // not where a slice begins
    const auto at = [&](Size j) { return first + j * inner; };
    auto maximum = -std::numeric_limits<Real<T>>::infinity();
    for (Size j = 0; j < n; ++j) maximum = std::max(maximum, Real<T>(x[at(j)]));
    Real<T> total = 0;
    for (Size j = 0; j < n; ++j) total += std::exp(Real<T>(x[at(j)]) - maximum);
    for (Size j = 0; j < n; ++j) y[at(j)] = T(std::exp(Real<T>(x[at(j)]) - maximum) / total);
  }
  return y;
}

/// Turns the pairs of one row, in place.
template <class T>
void turn(T* row, Size d_k, std::int64_t position, double theta) {
  for (Size k = 0; k < d_k; k += 2) {
    const double angle = static_cast<double>(position) /
                         std::pow(theta, static_cast<double>(k) / static_cast<double>(d_k));
    const auto cos = Real<T>(std::cos(angle)), sin = Real<T>(std::sin(angle));
    const auto even = Real<T>(row[k]), odd = Real<T>(row[k + 1]);
    row[k] = T(even * cos - odd * sin);
    row[k + 1] = T(even * sin + odd * cos);
  }
}

/// The shape that batch axes broadcast to, by NumPy's rules. Each is a tensor's shape without its
/// own axes, which come last.
inline std::vector<Size> broadcast(const std::vector<std::vector<Size>>& batches) {
  std::vector<Size> shape;
  for (const std::vector<Size>& batch : batches) {
    if (batch.size() > shape.size()) shape.insert(shape.begin(), batch.size() - shape.size(), 1);
    const std::size_t before = shape.size() - batch.size();
    for (std::size_t axis = 0; axis < batch.size(); ++axis) {
      Size& extent = shape[before + axis];
      require(extent == 1 || batch[axis] == 1 || extent == batch[axis],
              "the batch axes do not broadcast");
      if (extent == 1) extent = batch[axis];
    }
  }
  return shape;
}

template <class T>
std::vector<Size> batch_of(const Tensor<T>& x, std::ptrdiff_t own_axes) {
  return {x.shape().begin(), x.shape().end() - own_axes};
}

inline Size count(const std::vector<Size>& shape) {
  Size size = 1;
  for (const Size extent : shape) size *= extent;
  return size;
}

/// Which part of a tensor with the batch axes `own` belongs to part `index` of those of `whole`.
inline Size part(const std::vector<Size>& own, const std::vector<Size>& whole, Size index) {
  Size result = 0, step = 1;
  for (std::size_t back = 1; back <= whole.size(); ++back) {
    const Size extent = whole[whole.size() - back], at = index % extent;
    index /= extent;
    if (back > own.size()) continue;
    const Size mine = own[own.size() - back];
    if (mine > 1) result += at * step;
    step *= mine;
  }
  return result;
}

/// RoPE on every d_k columns of x[..., seq, heads * d_k].
template <class T>
Tensor<T> rope_heads(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions, Size heads,
                     double theta, Size max_seq_len) {
  const Size seq = x.last(2), width = x.last(1), d_k = width / heads;
  require(d_k % 2 == 0, "rope: d_k must be even");
  require(theta > 0, "rope: theta must be positive");
  for (Size i = 0; i < token_positions.size(); ++i) {
    require(token_positions[i] >= 0 && token_positions[i] < max_seq_len,
            "rope: a position is outside [0, max_seq_len)");
  }
  const std::vector<Size> own = batch_of(x, 2), of_positions = batch_of(token_positions, 1);
  const std::vector<Size> batch = broadcast({own, of_positions});
  std::vector<Size> shape = batch;
  shape.insert(shape.end(), {seq, width});
  Tensor<T> y(shape);
  for (Size b = 0; b < count(batch); ++b) {
    for (Size i = 0; i < seq; ++i) {
      T* const row = y.data() + (b * seq + i) * width;
      std::copy_n(x.data() + (part(own, batch, b) * seq + i) * width, width, row);
      const std::int64_t position = token_positions[part(of_positions, batch, b) * seq + i];
      for (Size h = 0; h < heads; ++h) turn(row + h * d_k, d_k, position, theta);
    }
  }
  return y;
}

template <class T>
Tensor<T> rope(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions, double theta,
               Size max_seq_len) {
  return rope_heads(x, token_positions, 1, theta, max_seq_len);
}

/// One query's answer: softmax(scores) v over the keys that `attends` to. Rows lie `row` apart.
template <class T, class Attends>
void attend(const T* q, const T* k, const T* v, T* y, Size m, Size d_k, Size d_v, Size k_row,
            Size v_row, Attends attends) {
  constexpr Real<T> infinity = std::numeric_limits<Real<T>>::infinity();
  std::vector<Real<T>> weights(static_cast<std::size_t>(m), -infinity), sums;
  Real<T> maximum = -infinity, total = 0;
  for (Size j = 0; j < m; ++j) {
    if (!attends(j)) continue;
    Real<T> score = 0;
    for (Size i = 0; i < d_k; ++i) score += Real<T>(q[i]) * Real<T>(k[j * k_row + i]);
    weights[static_cast<std::size_t>(j)] = score / std::sqrt(Real<T>(d_k));
    maximum = std::max(maximum, weights[static_cast<std::size_t>(j)]);
  }
  // Nothing to attend to: all weights are exp(-infinity) = 0, and so is y.
  for (auto& weight : weights)
    total += weight = std::exp(weight - (maximum == -infinity ? 0 : maximum));
  for (Size i = 0; i < d_v; ++i) {
    Real<T> sum = 0;
    for (Size j = 0; j < m; ++j) {
      if (attends(j)) sum += weights[static_cast<std::size_t>(j)] * Real<T>(v[j * v_row + i]);
    }
    y[i] = T(total == 0 ? 0 : sum / total);
  }
}

template <class T>
Tensor<T> scaled_dot_product_attention(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                                       const std::optional<Tensor<bool>>& mask) {
  const Size n = q.last(2), d_k = q.last(1), m = k.last(2), d_v = v.last(1);
  const auto of_q = batch_of(q, 2), of_k = batch_of(k, 2), of_v = batch_of(v, 2);
  const auto of_mask = mask ? batch_of(*mask, 2) : std::vector<Size>();
  const std::vector<Size> batch = broadcast({of_q, of_k, of_v, of_mask});
  std::vector<Size> shape = batch;
  shape.insert(shape.end(), {n, d_v});
  Tensor<T> y(shape);
  require(y.size() == 0 || (d_k > 0 && m > 0), "attention: d_k or m is 0");
  for (Size b = 0; b < count(batch); ++b) {
    for (Size i = 0; i < n; ++i) {
      const Size mask_row = mask ? (part(of_mask, batch, b) * n + i) * m : 0;
      attend(q.data() + (part(of_q, batch, b) * n + i) * d_k,
             k.data() + part(of_k, batch, b) * m * d_k, v.data() + part(of_v, batch, b) * m * d_v,
             y.data() + (b * n + i) * d_v, m, d_k, d_v, d_k, d_v,
             [&](Size j) { return !mask || (*mask)[mask_row + j] != 0; });
    }
  }
  return y;
}

/// The heads of q, k, v[..., seq, d_model], each attending to the positions up to its own.
template <class T>
Tensor<T> causal_heads(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v, Size num_heads) {
  const Size seq = q.last(2), d_model = q.last(1), d_k = d_model / num_heads;
  const auto of_v = batch_of(v, 2), batch = broadcast({batch_of(q, 2), of_v});
  Tensor<T> y(q.shape());  // q and k have the batch axes of the positions too, if any
  for (Size b = 0; b < count(batch); ++b) {
    const Size from = b * seq * d_model, v_from = part(of_v, batch, b) * seq * d_model;
    for (Size h = 0; h < num_heads; ++h) {
      for (Size i = 0; i < seq; ++i) {
        attend(q.data() + from + i * d_model + h * d_k, k.data() + from + h * d_k,
               v.data() + v_from + h * d_k, y.data() + from + i * d_model + h * d_k, i + 1, d_k,
               d_k, d_model, d_model, [](Size) { return true; });
      }
    }
  }
  return y;
}

template <class T>
void check_heads(const Tensor<T>& x, Size num_heads) {
  require(num_heads > 0 && x.last(1) % num_heads == 0, "num_heads does not divide d_model");
}

template <class T>
Tensor<T> multihead_self_attention(const Tensor<T>& x, const Tensor<T>& w_q, const Tensor<T>& w_k,
                                   const Tensor<T>& w_v, const Tensor<T>& w_o, Size num_heads) {
  check_heads(x, num_heads);
  return linear(causal_heads(linear(x, w_q), linear(x, w_k), linear(x, w_v), num_heads), w_o);
}

template <class T>
Tensor<T> multihead_self_attention_with_rope(
    const Tensor<T>& x, const Tensor<T>& w_q, const Tensor<T>& w_k, const Tensor<T>& w_v,
    const Tensor<T>& w_o, const std::optional<Tensor<std::int64_t>>& token_positions,
    Size num_heads, double theta, Size max_seq_len) {
  check_heads(x, num_heads);
  Tensor<std::int64_t> positions({x.last(2)});
  for (Size i = 0; i < positions.size(); ++i) positions[i] = i;
  if (token_positions) positions = *token_positions;
  const Tensor<T> q = rope_heads(linear(x, w_q), positions, num_heads, theta, max_seq_len);
  const Tensor<T> k = rope_heads(linear(x, w_k), positions, num_heads, theta, max_seq_len);
  return linear(causal_heads(q, k, linear(x, w_v), num_heads), w_o);
}

template <class T>
Tensor<T> multihead_self_attention_fused_qkv(const Tensor<T>& x, const Tensor<T>& w_qkv,
                                             const Tensor<T>& w_o, Size num_heads) {
  check_heads(x, num_heads);
  const Size d_model = x.last(1);
  require(w_qkv.last(2) == 3 * d_model, "w_qkv must have 3 d_model rows");
  const auto rows = [&](Size nth) {
    Tensor<T> weight({d_model, d_model});
    std::copy_n(w_qkv.data() + nth * weight.size(), weight.size(), weight.data());
    return weight;
  };
  return multihead_self_attention(x, rows(0), rows(1), rows(2), w_o, num_heads);
}
