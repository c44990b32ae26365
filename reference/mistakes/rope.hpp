// Known mistakes of reference/rope.hpp.
#pragma once

#include "../rope.hpp"
#include "mistakes.hpp"

#include <functional>

namespace prenorm::mistakes::rope {

using Positions = Tensor<std::int64_t>;

/// Rotates pair (first(k), second(k)) of each row by angle(position, k). `table` is what is made of
/// a cosine or sine, `product` of a product.
template <class Pair, class Angle, class Table = std::identity, class Product = std::identity>
Wide turn(const Wide& one, const Positions& token_positions, Pair pair, Angle angle,
          Table table = {}, Product product = {}) {
  const Wide x = reference::with_batch_of<double>(one, token_positions);
  const std::size_t d_k = x.shape().back(), seq = x.shape(x.dimension() - 2);
  auto leading = x.shape();
  leading.pop_back();
  const Positions positions = xt::broadcast(token_positions, leading);
  Tensor<double> y = x;
  for (std::size_t row = 0; row * d_k < x.size(); ++row) {
    const double* a = x.data() + row * d_k;
    double* b = y.data() + row * d_k;
    for (std::size_t k = 0; k < d_k / 2; ++k) {
      const auto [i, j] = pair(k, d_k);
      const double phi = angle(positions.data()[row], k, d_k, row % seq);
      const double cos = table(std::cos(phi)), sin = table(std::sin(phi));
      b[i] = product(a[i] * cos) - product(a[j] * sin);
      b[j] = product(a[i] * sin) + product(a[j] * cos);
    }
  }
  return y;
}

inline auto neighbours(std::size_t k, std::size_t) { return std::pair(2 * k, 2 * k + 1); }

inline double frequency(double theta, std::size_t k, std::size_t d_k) {
  return std::pow(theta, -2.0 * static_cast<double>(k) / static_cast<double>(d_k));
}

/// The right angle of pair k at position i.
inline auto right_angle(double theta) {
  return [theta](auto i, auto k, auto d_k, auto) { return double(i) * frequency(theta, k, d_k); };
}

/// Pairs (0, d/2), (1, d/2 + 1), ... as GPT-NeoX has them.
inline Wide halves(const Wide& x, const Positions& token_positions, double theta, std::int64_t) {
  return turn(
      x, token_positions, [](auto k, auto d_k) { return std::pair(k, k + d_k / 2); },
      right_angle(theta));
}

inline Wide turned_the_other_way(const Wide& x, const Positions& token_positions, double theta,
                                 std::int64_t) {
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    return -double(i) * frequency(theta, k, d_k);
  });
}

inline Wide position_plus_one(const Wide& x, const Positions& token_positions, double theta,
                              std::int64_t max_seq_len) {
  return reference::rope<double>(x, Positions(token_positions + 1), theta, max_seq_len + 1);
}

/// theta^(k/d) for theta^(2k/d).
inline Wide exponent_k_over_d(const Wide& x, const Positions& token_positions, double theta,
                              std::int64_t max_seq_len) {
  return reference::rope<double>(x, token_positions, std::sqrt(theta), max_seq_len);
}

/// 0, 1, 2, ... instead of token_positions.
inline Wide positions_ignored(const Wide& x, const Positions& token_positions, double theta,
                              std::int64_t) {
  return turn(x, token_positions, neighbours, [&](auto, auto k, auto d_k, auto index) {
    return double(index) * frequency(theta, k, d_k);
  });
}

/// Cosines and sines rounded to T, as in a table that is cast with the model.
inline Wide table_in_t(const Element& t, const Wide& x, const Positions& token_positions,
                       double theta, std::int64_t) {
  t.require_16_bit();
  return turn(x, token_positions, neighbours, right_angle(theta),
              [&](double value) { return t.round(value); });
}

/// Products with cosines and sines rounded to T before they are added.
inline Wide products_in_t(const Element& t, const Wide& x, const Positions& token_positions,
                          double theta, std::int64_t) {
  t.require_16_bit();
  return turn(x, token_positions, neighbours, right_angle(theta), std::identity(),
              [&](double value) { return t.round(value); });
}

/// Always the usual theta.
inline Wide theta_fixed(const Wide& x, const Positions& token_positions, double,
                        std::int64_t max_seq_len) {
  return reference::rope<double>(x, token_positions, 10000, max_seq_len);
}

/// Angles computed in float32, good to 1e-2 at position 131071. 16-bit results hide that.
inline Wide float32_angles(const Element& t, const Wide& x, const Positions& token_positions,
                           double theta, std::int64_t) {
  if (t.is_16_bit()) throw not_implemented("a mistake that 16-bit types hide");
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    const float inverse = static_cast<float>(frequency(theta, k, d_k));
    return static_cast<double>(static_cast<float>(i) * inverse);
  });
}

/// The same with the frequency exp(-log(theta) 2k/d), every step in float32.
inline Wide float32_angles_by_exp_log(const Element& t, const Wide& x,
                                      const Positions& token_positions, double theta,
                                      std::int64_t) {
  if (t.is_16_bit()) throw not_implemented("a mistake that 16-bit types hide");
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    const float step = -std::log(static_cast<float>(theta)) / static_cast<float>(d_k);
    return static_cast<double>(static_cast<float>(i) * std::exp(static_cast<float>(2 * k) * step));
  });
}

/// The same as position / theta^(2k/d), every step in float32.
inline Wide float32_angles_by_quotient(const Element& t, const Wide& x,
                                       const Positions& token_positions, double theta,
                                       std::int64_t) {
  if (t.is_16_bit()) throw not_implemented("a mistake that 16-bit types hide");
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    const float exponent = static_cast<float>(2 * k) / static_cast<float>(d_k);
    const float power = std::pow(static_cast<float>(theta), exponent);
    return static_cast<double>(static_cast<float>(i) / power);
  });
}

/// The same with the frequency exp(-(2k/d) log(theta)), every step in float32.
inline Wide float32_angles_by_exp_of_product(const Element& t, const Wide& x,
                                             const Positions& token_positions, double theta,
                                             std::int64_t) {
  if (t.is_16_bit()) throw not_implemented("a mistake that 16-bit types hide");
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    const float exponent = -(static_cast<float>(2 * k) / static_cast<float>(d_k));
    const float frequency = std::exp(exponent * std::log(static_cast<float>(theta)));
    return static_cast<double>(static_cast<float>(i) * frequency);
  });
}

/// The same with the frequency 1 / theta^(2k/d), every step in float32.
inline Wide float32_angles_by_reciprocal(const Element& t, const Wide& x,
                                         const Positions& token_positions, double theta,
                                         std::int64_t) {
  if (t.is_16_bit()) throw not_implemented("a mistake that 16-bit types hide");
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    const float exponent = static_cast<float>(2 * k) / static_cast<float>(d_k);
    const float frequency = 1 / std::pow(static_cast<float>(theta), exponent);
    return static_cast<double>(static_cast<float>(i) * frequency);
  });
}

/// theta as a whole number.
inline Wide theta_whole(const Wide& x, const Positions& token_positions, double theta,
                        std::int64_t max_seq_len) {
  return reference::rope<double>(x, token_positions, std::floor(theta), max_seq_len);
}

/// theta^(2k/(d - 2)): the last pair turns by 1/theta itself.
inline Wide exponent_over_d_minus_2(const Wide& x, const Positions& token_positions, double theta,
                                    std::int64_t) {
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    return double(i) * (d_k > 2 ? frequency(theta, k, d_k - 2) : 1);
  });
}

/// 1 / theta^(2k/d) rounded to T, as where all buffers are cast with the model.
inline Wide frequencies_in_t(const Element& t, const Wide& x, const Positions& token_positions,
                             double theta, std::int64_t) {
  t.require_16_bit();
  return turn(x, token_positions, neighbours, [&](auto i, auto k, auto d_k, auto) {
    return double(i) * t.round(frequency(theta, k, d_k));
  });
}

/// A product with a matrix of rotations: a NaN fills its row.
inline Wide nan_fills_the_row(const Wide& x, const Positions& token_positions, double theta,
                              std::int64_t max_seq_len) {
  Wide y = reference::rope<double>(x, token_positions, theta, max_seq_len);
  const std::size_t d_k = y.shape().back();
  for (std::size_t first = 0; first < y.size(); first += d_k) {
    double* row = y.data() + first;
    if (std::any_of(row, row + d_k, [](double a) { return std::isnan(a); })) {
      std::fill_n(row, d_k, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return y;
}

}  // namespace prenorm::mistakes::rope
