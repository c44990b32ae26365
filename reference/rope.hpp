// Rotary position embedding.
#pragma once

#include "module.hpp"
#include "tensor.hpp"

#include <cmath>
#include <memory>

namespace prenorm::reference {

/// The rotations of a list of positions: cos and sin of position / theta^(2k/d_k), in float64.
struct Rotations {
  std::size_t pairs = 0;                // d_k / 2
  std::vector<std::int64_t> positions;  // one row of cos and of sin each
  std::vector<double> cos, sin;         // [positions, pairs]

  Rotations(std::vector<std::int64_t> at, std::size_t d_k, double theta)
      : pairs(d_k / 2), positions(std::move(at)), cos(positions.size() * pairs), sin(cos.size()) {
    std::vector<double> divisor(pairs);
    for (std::size_t k = 0; k < pairs; ++k) {
      // step: power of theta
      divisor[k] = std::pow(theta, 2 * static_cast<double>(k) / static_cast<double>(d_k));
    }
    parallel_for(positions.size(), cos.size(), [&](std::size_t row) {
      for (std::size_t k = 0; k < pairs; ++k) {
        // step: angle
        const double angle = static_cast<double>(positions[row]) / divisor[k];
        // step: cosine and sine
        cos[row * pairs + k] = std::cos(angle);
        sin[row * pairs + k] = std::sin(angle);
      }
    });
  }
};

/// Turns the pairs (a_2k, a_2k+1) of d_k elements counter-clockwise, in the compute type.
template <class T>
void rotate(const T* a, const double* cos, const double* sin, std::size_t pairs, T* y) {
  using C = compute_t<T>;
  for (std::size_t k = 0; k < pairs; ++k) {
    const C c = static_cast<C>(cos[k]), s = static_cast<C>(sin[k]);
    const C even = static_cast<C>(a[2 * k]), odd = static_cast<C>(a[2 * k + 1]);
    // step: turn
    y[2 * k] = static_cast<T>(even * c - odd * s);
    y[2 * k + 1] = static_cast<T>(even * s + odd * c);
  }
}

/// Throws unless theta is positive.
inline void check_theta(double theta) {
  require(theta > 0, "rope: theta must be positive, is ", theta);
}

/// Throws unless d_k is even and the positions are in [0, max_seq_len).
inline void check_rope(std::size_t d_k, const Tensor<std::int64_t>& token_positions,
                       std::int64_t max_seq_len) {
  // step: check
  require(d_k % 2 == 0, "rope: d_k must be even, is ", d_k);
  for (const std::int64_t position : token_positions) {
    require(position >= 0 && position < max_seq_len, "rope: position ", position,
            " is not in [0, max_seq_len = ", max_seq_len, ")");
  }
}

/// Rotates x[..., seq, heads * d_k], every head of a row by its position. `row_of(i)` is the row of
/// `rotations` for token position i, counted in the order of token_positions[..., seq].
template <class T, class RowOf>
Tensor<T> rotate_rows(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions,
                      std::size_t heads, const Rotations& rotations, RowOf row_of) {
  const std::size_t seq = x.shape(x.dimension() - 2), width = x.shape().back();
  require(token_positions.dimension() >= 1 && token_positions.shape().back() == seq,
          "rope: token_positions must be [..., ", seq, "], is ", token_positions.shape());
  Batch batch("rope");
  batch.join(x, 2, "x");
  batch.join(token_positions, 1, "token_positions");
  auto y = empty<T>(batch.with({seq, width}));
  if (y.size() == 0) return y;
  const std::size_t d_k = width / heads;
  parallel_for(batch.size() * seq, y.size(), [&](std::size_t i) {
    const std::size_t b = i / seq, token = i % seq;
    const std::size_t row = row_of(batch.part(token_positions, 1, b) * seq + token);
    const T* from = x.data() + (batch.part(x, 2, b) * seq + token) * width;
    for (std::size_t head = 0; head < heads; ++head) {
      rotate(from + head * d_k, &rotations.cos[row * rotations.pairs],
             &rotations.sin[row * rotations.pairs], rotations.pairs,
             y.data() + i * width + head * d_k);
    }
  });
  return y;
}

/// RoPE of x[..., seq, heads * d_k], every head rotated in the same way; rope has one head.
template <class T>
Tensor<T> rope_heads(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions,
                     std::size_t heads, double theta, std::int64_t max_seq_len) {
  require(x.dimension() >= 2, "rope: x must be [..., seq, d_k], is ", x.shape());
  const std::size_t d_k = x.shape().back() / heads;
  check_theta(theta);
  check_rope(d_k, token_positions, max_seq_len);
  const Rotations rotations({token_positions.begin(), token_positions.end()}, d_k, theta);
  return rotate_rows(x, token_positions, heads, rotations, [](std::size_t i) { return i; });
}

/// RoPE:  (y_2k, y_2k+1) is (x_2k, x_2k+1) turned counter-clockwise by position / theta^(2k/d_k).
///
/// Source   Su et al. 2021, arXiv:2104.09864, eq. 15; CS336 2025, eq. 8, with k from 0
/// Shapes   x[..., seq, d_k], token_positions[..., seq]: int64 -> y[..., seq, d_k]
/// Types    any T; angles, sines and cosines in float64; 16-bit types rotate in float32
/// Errors   std::invalid_argument if theta is not positive, d_k is odd, or a position is not in
///          [0, max_seq_len)
/// Twins    cuda/rope.cu  fixtures/rope.h5  tests/test_rope.cpp  notebooks/rope.ipynb
template <class T>
Tensor<T> rope(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions, double theta,
               std::int64_t max_seq_len) {
  return rope_heads(x, token_positions, 1, theta, max_seq_len);
}

/// The module: a table of the rotations of every position, built once and shared by all layers.
class RotaryPositionalEmbedding {
 public:
  RotaryPositionalEmbedding(double theta, std::int64_t d_k, std::int64_t max_seq_len)
      : theta_(theta), d_k_(d_k), max_seq_len_(max_seq_len) {
    require(d_k > 0 && d_k % 2 == 0, "RotaryPositionalEmbedding: d_k must be even and positive");
    require(max_seq_len > 0, "RotaryPositionalEmbedding: max_seq_len must be positive");
    check_theta(theta);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(max_seq_len));
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
    table_ = std::make_shared<const Rotations>(std::move(positions), static_cast<std::size_t>(d_k),
                                               theta);
  }

  /// x[..., seq, d_k], token_positions[..., seq] -> y of the shape of x. Heads are batch axes here:
  /// [..., heads, seq, d_k].
  template <class T>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions) const {
    require(x.dimension() >= 2 && std::cmp_equal(x.shape().back(), d_k_),
            "RotaryPositionalEmbedding: x must be [..., seq, ", d_k_, "], is ", x.shape());
    return rotate_heads(x, token_positions);
  }

  /// The same for heads side by side, x[..., seq, heads * d_k], each rotated in the same way.
  template <class T>
  Tensor<T> rotate_heads(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions) const {
    const auto d_k = static_cast<std::size_t>(d_k_);
    require(x.dimension() >= 2 && x.shape().back() % d_k == 0,
            "RotaryPositionalEmbedding: x must be [..., seq, heads * ", d_k_, "], is ", x.shape());
    check_rope(d_k, token_positions, max_seq_len_);
    return rotate_rows(x, token_positions, x.shape().back() / d_k, *table_, [&](std::size_t i) {
      return static_cast<std::size_t>(token_positions.data()[i]);
    });
  }

  std::int64_t d_k() const { return d_k_; }

  /// The table itself: copies of this module share it.
  const std::shared_ptr<const Rotations>& table() const { return table_; }

  /// No parameters: the table is computed, never loaded or saved.
  template <class Self, class Visit>
  static void visit_parts(Self& /*self*/, const Visit& /*visit*/) {}

  std::string description() const {
    return "RotaryPositionalEmbedding(theta=" + to_text(theta_) + ", d_k=" + std::to_string(d_k_) +
           ", max_seq_len=" + std::to_string(max_seq_len_) + ")";
  }

 private:
  double theta_;
  std::int64_t d_k_, max_seq_len_;
  std::shared_ptr<const Rotations> table_;
};

}  // namespace prenorm::reference
