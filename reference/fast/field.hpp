// The textbook loop in the forms of the field: what PyTorch and published kernels do differently
// from the loop, where that rounds more. Both are right, so tolerances have room for both
// (harness/replay/calibrate.hpp). Only `plain` has these, as the variant `field` of a problem.
#pragma once

#include "sequences.hpp"

namespace prenorm::fast::textbook {

/// Set between calls only, as sum_order is.
inline bool field_forms = false;
/// Rounds to the 16-bit element type of the current call; null for wider ones.
inline float (*to_16_bits)(float) = nullptr;

/// erf of one number. In float32, libraries take polynomials: that of Abramowitz & Stegun 1964,
/// 7.1.26, errs by 1.5e-7, the pieces of oneDNN, which PyTorch calls, by up to 6.8e-7 between 1.6
/// and 2.9. The field form errs by nearly as much, in both directions; atol is twice its error.
template <class C>
C erf(C a) {
  if constexpr (std::is_same_v<C, float>) {
    if (const float size = std::abs(a); field_forms && size < 4) {
      const float most = 1.6f < size && size < 2.9f ? 5e-7f : 1.5e-7f;
      return std::erf(a) + most * std::cos(32 * a);
    }
  }
  return std::erf(a);
}

/// theta^exponent: by exp and log in the field form, the logarithm one unit in the last place off,
/// as another library's may be.
inline double power_of_theta(double theta, double exponent) {
  if (!field_forms) return std::pow(theta, exponent);
  return std::exp(exponent *
                  std::nextafter(std::log(theta), std::numeric_limits<double>::infinity()));
}

/// A copy of a matrix, times a factor.
template <class C>
struct Scaled {
  Memory<C> memory;
  Matrix<C> matrix;

  Scaled(Matrix<const C> a, C factor)
      : memory(a.rows * a.columns), matrix{memory.data(), a.rows, a.columns, a.columns} {
    for (std::size_t i = 0; i < a.rows; ++i) {
      std::transform(a.row(i), a.row(i) + a.columns, matrix.row(i),
                     [factor](C value) { return factor * value; });
    }
  }
};

/// Attention's weights[n, m] as kernels have them: q and k scaled before their product, exp2 of
/// scores times log2(e), probabilities rounded to T for tensor cores.
template <class C>
void weights_as_in_kernels(const Sequence<C>& s, Matrix<C> weights) {
  constexpr C infinity = std::numeric_limits<C>::infinity(), log2_e = C(1.4426950408889634074);
  const C factor = 1 / std::sqrt(std::sqrt(static_cast<C>(s.k.columns)));
  const Scaled<C> q(s.q, factor), k(s.k, factor);
  multiply_transposed<C>(q.matrix, k.matrix, weights);
  for (std::size_t i = 0; i < weights.rows; ++i) {
    auto weight = row_view(weights.row(i), weights.columns);
    s.hide(i, weight.data());
    for (C& score : weight) score *= log2_e;
    const C largest = maximum(weight);
    for (C& score : weight) score = std::exp2(score - (largest == -infinity ? C(0) : largest));
    const C sum = total(weight);
    for (C& each : weight) {
      each /= sum == 0 ? C(1) : sum;
      if constexpr (std::is_same_v<C, float>) {
        if (to_16_bits != nullptr) each = to_16_bits(each);
      }
    }
  }
}

}  // namespace prenorm::fast::textbook
