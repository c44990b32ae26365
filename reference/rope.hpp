// Rotary position embedding.
//
//   rope   at position i, pair k of the d_k / 2 pairs is turned by the angle i / theta^(2k/d_k)
#pragma once

#include "tensor.hpp"

namespace prenorm::reference {

/// The cosines and sines of positions for every pair k: cos, sin[..., d_k / 2].
struct Rotations {
  Tensor<double> cos, sin;
};

/// The rotations of token_positions[...].
inline Rotations rotations(const Tensor<std::int64_t>& token_positions, std::size_t d_k,
                           double theta) {
  const Tensor<double> k = xt::arange<double>(static_cast<double>(d_k / 2));
  // step: power of theta
  const Tensor<double> divisor = xt::pow(theta, 2 * k / static_cast<double>(d_k));
  // step: angle
  const auto position = xt::expand_dims(token_positions, token_positions.dimension());
  const Tensor<double> angle = position / divisor;
  // step: cosine and sine
  return {xt::cos(angle), xt::sin(angle)};
}

/// Turns the neighbours (x_2k, x_2k+1) of x[..., seq, d_k] counter-clockwise, in the compute type:
///   y_2k = x_2k cos - x_2k+1 sin,  y_2k+1 = x_2k sin + x_2k+1 cos
template <class T>
Tensor<T> rotate(const Tensor<T>& x, const Rotations& by) {
  using C = compute_t<T>;
  const Tensor<C> a = widen(x), cos = by.cos, sin = by.sin;
  const Shape batch = broadcast("rope", {batch_of(x, 2), batch_of(cos, 2)});
  auto y = empty<C>(with(batch, {size(x, -2), size(x, -1)}));
  const auto even = [](auto& t) {
    return xt::strided_view(t, {xt::ellipsis(), xt::range(0, _, 2)});
  };
  const auto odd = [](auto& t) {
    return xt::strided_view(t, {xt::ellipsis(), xt::range(1, _, 2)});
  };
  // noalias: the temporary copy that is made without it has four axes, whatever y has.
  // step: turn
  xt::noalias(even(y)) = even(a) * cos - odd(a) * sin;
  xt::noalias(odd(y)) = even(a) * sin + odd(a) * cos;
  return narrow<T>(y);
}

/// Throws unless theta is positive, d_k is even, and token_positions are [..., seq], all of them in
/// [0, max_seq_len) and below 2^53.
inline void check_rope(std::size_t seq, std::size_t d_k, double theta,
                       const Tensor<std::int64_t>& token_positions, std::int64_t max_seq_len) {
  require(theta > 0, "rope: theta must be positive, is ", theta);
  require(d_k % 2 == 0, "rope: d_k must be even, is ", d_k);
  require(token_positions.dimension() >= 1 && size(token_positions, -1) == seq,
          "rope: token_positions must be [..., ", seq, "], is ", token_positions.shape());
  for (const std::int64_t position : token_positions) {
    require(position >= 0 && position < max_seq_len, "rope: position ", position,
            " is not in [0, max_seq_len = ", max_seq_len, ")");
    require(position < 1ll << 53, "rope: position ", position, " is not below 2^53");
  }
}

/// RoPE:  (y_2k, y_2k+1) is (x_2k, x_2k+1) turned counter-clockwise by position / theta^(2k/d_k).
///
/// Source   Su et al. 2021, arXiv:2104.09864, eq. 15; CS336 2025, eq. 8, with k from 0
/// Shapes   x[..., seq, d_k], token_positions[..., seq]: int64 -> y[..., seq, d_k]
/// Types    any T; angles, sines and cosines in float64; 16-bit types rotate in float32
/// Errors   std::invalid_argument if theta is not positive, d_k is odd, or a position is not in
///          [0, max_seq_len) or not below 2^53, from where on float64 skips whole numbers
/// Twins    cuda/rope.cu  fixtures/rope.h5  tests/reference/test_rope.cpp  notebooks/rope.ipynb
template <class T>
Tensor<T> rope(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions, double theta,
               std::int64_t max_seq_len) {
  require(x.dimension() >= 2, "rope: x must be [..., seq, d_k], is ", x.shape());
  const std::size_t seq = size(x, -2), d_k = size(x, -1);
  // step: check
  check_rope(seq, d_k, theta, token_positions, max_seq_len);
  return rotate(x, rotations(token_positions, d_k, theta));
}

}  // namespace prenorm::reference
