// Rotary position embedding.
//
//   rope   at position i, pair k of the d_k / 2 pairs is turned by the angle i / theta^(2k/d_k)
//
// Contracts: reference/rope.hpp
#pragma once

#include "batch.hpp"
#include "field.hpp"

#include <cmath>
#include <memory>
#include <numeric>

namespace prenorm::fast {

/// The rotations of one position: cos and sin of the angle of each pair, in float64.
struct Rotation {
  const double *cos, *sin;  // [pairs]
  std::size_t pairs;        // d_k / 2
};

/// Turns the pairs (a_2k, a_2k+1) of d_k elements counter-clockwise, in the compute type:
///   y_2k = a_2k cos - a_2k+1 sin,  y_2k+1 = a_2k sin + a_2k+1 cos
template <class T>
void rotate(const T* a, const Rotation& by, T* y) {
  using C = compute_t<T>;
  for (std::size_t k = 0; k < by.pairs; ++k) {
    const C c = static_cast<C>(by.cos[k]), s = static_cast<C>(by.sin[k]);
    const C even = static_cast<C>(a[2 * k]), odd = static_cast<C>(a[2 * k + 1]);
    // step: turn
    y[2 * k] = static_cast<T>(even * c - odd * s);
    y[2 * k + 1] = static_cast<T>(even * s + odd * c);
  }
}

/// The rotations of some positions. Positions that repeat, as those of a batch do, share a row.
class Rotations {
 public:
  Rotations(std::vector<std::int64_t> positions, std::size_t d_k, double theta)
      : pairs_(d_k / 2), positions_(std::move(positions)) {
    std::ranges::sort(positions_);
    positions_.erase(std::ranges::unique(positions_).begin(), positions_.end());
    cos_.resize(positions_.size() * pairs_);
    sin_.resize(cos_.size());
    std::vector<double> divisor(pairs_);
    for (std::size_t k = 0; k < pairs_; ++k) {
      // step: power of theta
      divisor[k] =
          textbook::power_of_theta(theta, 2 * static_cast<double>(k) / static_cast<double>(d_k));
    }
    constexpr std::size_t cost = 16;  // a cosine and a sine, in elements that are only copied
    parallel_for(positions_.size(), cost * cos_.size(), [&](std::size_t row) {
      for (std::size_t k = 0; k < pairs_; ++k) {
        // step: angle
        const double angle = static_cast<double>(positions_[row]) / divisor[k];
        // step: cosine and sine
        cos_[row * pairs_ + k] = std::cos(angle);
        sin_[row * pairs_ + k] = std::sin(angle);
      }
    });
  }

  /// The rotation of a position, which must be one of those given.
  Rotation at(std::int64_t position) const {
    const auto found = std::ranges::lower_bound(positions_, position);
    const std::size_t first = static_cast<std::size_t>(found - positions_.begin()) * pairs_;
    return {&cos_[first], &sin_[first], pairs_};
  }

  std::size_t positions() const { return positions_.size(); }

 private:
  std::size_t pairs_;
  std::vector<std::int64_t> positions_;  // ascending, each once; one row of cos_ and sin_ each
  std::vector<double> cos_, sin_;        // [positions, pairs]
};

/// Throws unless theta is positive.
inline void check_theta(double theta) {
  require(theta > 0, "rope: theta must be positive, is ", theta);
}

/// Throws unless theta is positive, d_k is even, and all positions are in [0, max_seq_len) and
/// below 2^53.
inline void check_rope(std::size_t d_k, double theta, const Tensor<std::int64_t>& token_positions,
                       std::int64_t max_seq_len) {
  // step: check
  check_theta(theta);
  require(d_k % 2 == 0, "rope: d_k must be even, is ", d_k);
  for (const std::int64_t position : token_positions) {
    require(position >= 0 && position < max_seq_len, "rope: position ", position,
            " is not in [0, max_seq_len = ", max_seq_len, ")");
    require(position < 1ll << 53, "rope: position ", position, " is not below 2^53");
  }
}

/// Rotates x[..., seq, heads * d_k], every head of a row by the row's position.
template <class T>
Tensor<T> rotate_heads(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions,
                       std::size_t d_k, const Rotations& rotations) {
  const std::size_t seq = x.shape(x.dimension() - 2), width = x.shape().back();
  require(token_positions.dimension() >= 1 && token_positions.shape().back() == seq,
          "rope: token_positions must be [..., ", seq, "], is ", token_positions.shape());
  Batch batch("rope");
  batch.join(x, 2, "x");
  batch.join(token_positions, 1, "token_positions");
  auto y = empty<T>(batch.with({seq, width}));
  if (y.size() == 0) return y;
  constexpr std::size_t together = 64;  // rows
  const std::size_t parts = (seq + together - 1) / together;
  parallel_for(batch.size() * parts, y.size(), [&](std::size_t job) {
    const std::size_t b = job / parts, first = job % parts * together;
    const T* from = x.data() + batch.part(x, 2, b) * seq * width;
    T* to = y.data() + b * seq * width;
    const std::int64_t* position = token_positions.data() + batch.part(token_positions, 1, b) * seq;
    for (std::size_t token = first; token < std::min(seq, first + together); ++token) {
      const Rotation rotation = rotations.at(position[token]);
      for (std::size_t i = token * width; i < (token + 1) * width; i += d_k) {
        rotate(from + i, rotation, to + i);
      }
    }
  });
  return y;
}

/// RoPE:  (y_2k, y_2k+1) is (x_2k, x_2k+1) turned counter-clockwise by position / theta^(2k/d_k).
template <class T>
Tensor<T> rope(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions, double theta,
               std::int64_t max_seq_len) {
  require(x.dimension() >= 2, "rope: x must be [..., seq, d_k], is ", x.shape());
  const std::size_t d_k = x.shape().back();
  check_rope(d_k, theta, token_positions, max_seq_len);
  const Rotations rotations({token_positions.begin(), token_positions.end()}, d_k, theta);
  return rotate_heads(x, token_positions, d_k, rotations);
}

}  // namespace prenorm::fast
