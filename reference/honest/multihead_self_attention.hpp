// Honest variants of multi-head self-attention.
#pragma once

#include "../fast/linear.hpp"
#include "../fast/rope.hpp"
#include "attention.hpp"

namespace prenorm::honest {

// The composed problems with such an attention. The same intermediate results as in the reference
// are rounded to T.

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
    return rounded<T>(fast::rope<C>(parts, positions, rope->first, rope->second));
  };
  auto causal = Tensor<bool>::from_shape({seq, seq});
  for (std::size_t i = 0; i < seq * seq; ++i) causal.data()[i] = i % seq <= i / seq;
  Tensor<C> y =
      rounded<T, C>(attention<Softmax, T>(split(q, true), split(k, true), split(v, false), causal));
  y = Tensor<C>(xt::transpose(y, {0, 2, 1, 3}));
  y.reshape(shape);
  return fast::linear<C>(y, w_o);
}

template <class Softmax, class T>
Wide<T> multihead(const Wide<T>& x, const Wide<T>& w_q, const Wide<T>& w_k, const Wide<T>& w_v,
                  const Wide<T>& w_o, std::int64_t num_heads) {
  using C = compute_t<T>;
  return heads<Softmax, T>(rounded<T>(fast::linear<C>(x, w_q)), rounded<T>(fast::linear<C>(x, w_k)),
                           rounded<T>(fast::linear<C>(x, w_v)), w_o, std::nullopt, num_heads,
                           std::nullopt);
}

template <class Softmax, class T>
Wide<T> multihead_with_rope(const Wide<T>& x, const Wide<T>& w_q, const Wide<T>& w_k,
                            const Wide<T>& w_v, const Wide<T>& w_o,
                            const Positions& token_positions, std::int64_t num_heads, double theta,
                            std::int64_t max_seq_len) {
  using C = compute_t<T>;
  const Tensor<C> all = fast::with_batch_of(x, token_positions);
  return heads<Softmax, T>(rounded<T>(fast::linear<C>(all, w_q)),
                           rounded<T>(fast::linear<C>(all, w_k)),
                           rounded<T>(fast::linear<C>(all, w_v)), w_o, token_positions, num_heads,
                           std::pair(theta, max_seq_len));
}

template <class Softmax, class T>
Wide<T> multihead_fused_qkv(const Wide<T>& x, const Wide<T>& w_qkv, const Wide<T>& w_o,
                            std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1);
  fast::require(w_qkv.shape(0) == 3 * d, "w_qkv must have 3 d_model rows");
  const auto part = [&](std::size_t i) {
    return Wide<T>(xt::view(w_qkv, xt::range(i * d, (i + 1) * d), xt::all()));
  };
  return multihead<Softmax, T>(x, part(0), part(1), part(2), w_o, num_heads);
}

}  // namespace prenorm::honest
