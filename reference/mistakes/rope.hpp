// Known mistakes of reference/rope.hpp.
#pragma once

#include "../fast/rope.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::rope {

using Positions = Tensor<std::int64_t>;

/// The two elements of pair k.
using Pair = std::pair<std::size_t, std::size_t> (*)(std::size_t k, std::size_t d_k);
inline std::pair<std::size_t, std::size_t> neighbours(std::size_t k, std::size_t) {
  return {2 * k, 2 * k + 1};
}
inline std::pair<std::size_t, std::size_t> half_apart(std::size_t k, std::size_t d_k) {
  return {k, k + d_k / 2};
}

/// The exponent of theta for pair k.
struct Fraction {
  std::size_t numerator, denominator;
  template <class C>
  C in() const {
    return static_cast<C>(numerator) / static_cast<C>(denominator);
  }
};
using Exponent = Fraction (*)(std::size_t k, std::size_t d_k);
inline Fraction twice_k_over_d(std::size_t k, std::size_t d_k) { return {2 * k, d_k}; }

/// The angle by which a pair is turned: the position over theta to an exponent.
using Angle = double (*)(const Element& t, double position, double theta, Fraction exponent);
inline double right_angle(const Element&, double position, double theta, Fraction exponent) {
  return position / std::pow(theta, exponent.in<double>());
}

/// The steps of RoPE; the defaults are right.
struct Steps : AnySteps {
  Pair read = neighbours, written = neighbours;
  bool positions_given = true;  // or else 0, 1, 2, ...
  std::int64_t first_position = 0;
  double (*base)(double theta) = nullptr;  // theta, made of the caller's
  Exponent exponent = twice_k_over_d;
  Angle angle = right_angle;
  bool sine_for_cosine = false;
  double first_sign = -1, second_sign = 1;  // of the sine in the first and second of a pair
  bool rounds_table = false;                // cosines and sines to T
  bool rounds_products = false;             // with cosines and sines, to T
  bool by_matrices = false;                 // of rotations: a NaN fills its row

  bool operator==(const Steps&) const = default;
};

/// A row of cosines and a row of sines, one of each for every pair.
struct Turns {
  std::vector<double> cos, sin;
};
inline Turns turns_at(const Steps& steps, const Element& t, std::int64_t position, double theta,
                      std::size_t d_k) {
  Turns turns;
  for (std::size_t k = 0; k < d_k / 2; ++k) {
    // step: power of theta, angle
    const double angle =
        steps.angle(t, static_cast<double>(position + steps.first_position),
                    steps.base ? steps.base(theta) : theta, steps.exponent(k, d_k));
    // step: cosine and sine
    turns.cos.push_back(std::cos(angle));
    turns.sin.push_back(std::sin(angle));
  }
  // step: cosine and sine
  if (steps.sine_for_cosine) std::swap(turns.cos, turns.sin);
  if (steps.rounds_table) {
    for (double& value : turns.cos) value = t.round(value);
    for (double& value : turns.sin) value = t.round(value);
  }
  return turns;
}

inline Wide rope(const Steps& steps, const Element& t, const Wide& given_x,
                 const Positions& token_positions, double theta, std::int64_t max_seq_len) {
  const Wide x = fast::with_batch_of<double>(given_x, token_positions);
  const std::size_t d_k = x.shape().back(), seq = x.shape(x.dimension() - 2);
  fast::check_rope(d_k, theta, token_positions, max_seq_len);
  auto leading = x.shape();
  leading.pop_back();
  const Positions positions = xt::broadcast(token_positions, leading);
  std::map<std::int64_t, Turns> table;  // of the positions that occur
  Wide y = x;
  // step: turn
  const auto product = [&](double a, double b) {
    return steps.rounds_products ? t.round(a * b) : a * b;
  };

  for (std::size_t row = 0; row * d_k < x.size(); ++row) {
    const double* a = x.data() + row * d_k;
    double* b = y.data() + row * d_k;
    // step: angle
    const std::int64_t position =
        steps.positions_given ? positions.data()[row] : static_cast<std::int64_t>(row % seq);
    auto found = table.find(position);
    if (found == table.end()) {
      found = table.emplace(position, turns_at(steps, t, position, theta, d_k)).first;
    }
    // step: turn
    for (std::size_t k = 0; k < d_k / 2; ++k) {
      const double cos = found->second.cos[k], sin = found->second.sin[k];
      const auto [i, j] = steps.read(k, d_k);
      const auto [first, second] = steps.written(k, d_k);
      b[first] = product(a[i], cos) + steps.first_sign * product(a[j], sin);
      b[second] = steps.second_sign * product(a[i], sin) + product(a[j], cos);
    }
    if (steps.by_matrices && std::any_of(b, b + d_k, [](double v) { return std::isnan(v); })) {
      std::fill_n(b, d_k, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return y;
}

/// Pairs (0, d/2), (1, d/2 + 1), ... as GPT-NeoX has them.
inline void halves(Steps& steps) { steps.read = steps.written = half_apart; }

/// Neighbours are turned, but stored as all firsts, then all seconds.
inline void written_as_halves(Steps& steps) { steps.written = half_apart; }

inline void turned_the_other_way(Steps& steps) {
  steps.first_sign = 1;
  steps.second_sign = -1;
}

/// No rotation: (a cos - b sin, -a sin + b cos).
inline void second_sign_flipped(Steps& steps) { steps.second_sign = -1; }

inline void sin_and_cos_exchanged(Steps& steps) { steps.sine_for_cosine = true; }

inline void position_plus_one(Steps& steps) { steps.first_position = 1; }

/// 0, 1, 2, ... instead of token_positions.
inline void positions_ignored(Steps& steps) { steps.positions_given = false; }

/// theta^(k/d) for theta^(2k/d).
inline void exponent_k_over_d(Steps& steps) {
  steps.exponent = [](std::size_t k, std::size_t d_k) { return Fraction{k, d_k}; };
}

/// k from 1 to d/2, as some papers number the pairs.
inline void pairs_counted_from_1(Steps& steps) {
  steps.exponent = [](std::size_t k, std::size_t d_k) { return Fraction{2 * k + 2, d_k}; };
}

/// theta^(2k/(d - 2)): the last pair turns by 1/theta itself.
inline void exponent_over_d_minus_2(Steps& steps) {
  steps.exponent = [](std::size_t k, std::size_t d_k) {
    return Fraction{2 * k, std::max<std::size_t>(d_k, 3) - 2};
  };
}

/// The exponent is 0 for every pair: k is left out.
inline void same_angle_for_all_pairs(Steps& steps) {
  steps.exponent = [](std::size_t, std::size_t d_k) { return Fraction{0, d_k}; };
}

/// Always the usual theta.
inline void theta_fixed(Steps& steps) {
  steps.base = [](double) { return 10000.0; };
}

/// theta as a whole number.
inline void theta_whole(Steps& steps) {
  steps.base = [](double theta) { return std::floor(theta); };
}

/// Cosines and sines rounded to T, as in a table that is cast with the model.
inline void table_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_table = true;
}

/// Products with cosines and sines rounded to T before they are added.
inline void products_in_t(Steps& steps, const Element& t) {
  require_16_bit(t);
  steps.rounds_products = true;
}

/// 1 / theta^(2k/d) rounded to T, as where all buffers are cast with the model.
inline void frequencies_in_t(Steps& steps, const Element& of_call) {
  if (of_call.is<float>()) throw not_implemented("in float32 that is float32_angles");
  require_16_bit(of_call);
  steps.angle = [](const Element& t, double position, double theta, Fraction exponent) {
    return position * t.round(std::pow(theta, -exponent.in<double>()));
  };
}

/// Angles computed in float32, good to 1e-2 at position 131071.
inline void float32_angles(Steps& steps) {
  steps.angle = [](const Element&, double position, double theta, Fraction exponent) {
    const float inverse = static_cast<float>(std::pow(theta, -exponent.in<double>()));
    return static_cast<double>(static_cast<float>(position) * inverse);
  };
}

/// The same with the frequency exp(-log(theta) 2k/d), every step in float32.
inline void float32_angles_by_exp_log(Steps& steps) {
  steps.angle = [](const Element&, double position, double theta, Fraction exponent) {
    const float step =
        -std::log(static_cast<float>(theta)) / static_cast<float>(exponent.denominator);
    const float inverse = std::exp(static_cast<float>(exponent.numerator) * step);
    return static_cast<double>(static_cast<float>(position) * inverse);
  };
}

/// The same as position / theta^(2k/d), every step in float32.
inline void float32_angles_by_quotient(Steps& steps) {
  steps.angle = [](const Element&, double position, double theta, Fraction exponent) {
    const float power = std::pow(static_cast<float>(theta), exponent.in<float>());
    return static_cast<double>(static_cast<float>(position) / power);
  };
}

/// The same with the frequency exp(-(2k/d) log(theta)), every step in float32.
inline void float32_angles_by_exp_of_product(Steps& steps) {
  steps.angle = [](const Element&, double position, double theta, Fraction exponent) {
    const float inverse = std::exp(-exponent.in<float>() * std::log(static_cast<float>(theta)));
    return static_cast<double>(static_cast<float>(position) * inverse);
  };
}

/// The same with the frequency 1 / theta^(2k/d), every step in float32.
inline void float32_angles_by_reciprocal(Steps& steps) {
  steps.angle = [](const Element&, double position, double theta, Fraction exponent) {
    const float inverse = 1 / std::pow(static_cast<float>(theta), exponent.in<float>());
    return static_cast<double>(static_cast<float>(position) * inverse);
  };
}

/// The same with the frequency theta^(-2k/d), every step in float32.
inline void float32_angles_by_negative_power(Steps& steps) {
  steps.angle = [](const Element&, double position, double theta, Fraction exponent) {
    const float inverse = std::pow(static_cast<float>(theta), -exponent.in<float>());
    return static_cast<double>(static_cast<float>(position) * inverse);
  };
}

/// A product with a matrix of rotations: a NaN fills its row.
inline void nan_fills_the_row(Steps& steps) { steps.by_matrices = true; }

}  // namespace prenorm::mistakes::rope
