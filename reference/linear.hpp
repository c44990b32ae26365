// Linear layer without bias.
#pragma once

#include "module.hpp"
#include "sums.hpp"

namespace prenorm::reference {

/// Linear:  y = x Wᵀ
///
/// Source   CS336 2025, section 3.4.2: row vectors, no bias, after PaLM (arXiv:2204.02311)
/// Shapes   x[..., d_in], weight[d_out, d_in] -> y[..., d_out]
/// Types    any T; sums in float32 for 16-bit types, rounded once, at the end
/// Errors   std::invalid_argument if weight is not [d_out, d_in] for the d_in of x, or d_in is 0
/// Twins    cuda/linear.cu  fixtures/linear.h5  tests/reference/test_linear.cpp
///          notebooks/linear.ipynb
template <class T>
Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight) {
  require(weight.dimension() == 2, "linear: weight must be [d_out, d_in], is ", weight.shape());
  require(x.dimension() >= 1, "linear: x must have an axis d_in");
  const std::size_t d_out = weight.shape(0), d_in = weight.shape(1);
  require(x.shape().back() == d_in, "linear: x must be [..., ", d_in, "], is ", x.shape());
  using C = compute_t<T>;
  auto y = empty<C>(with_last(shape_of(x), d_out));
  require(d_in > 0 || y.size() == 0, "linear: d_in is 0, there is nothing to sum over");
  if (y.size() == 0) return narrow<T>(y);

  // step: widen
  const Tensor<C>&a = widen(x), &w = widen(weight);
  const std::size_t rows = y.size() / d_out;
  // step: sum of products
  multiply_transposed<C>({a.data(), rows, d_in, d_in}, {w.data(), d_out, d_in, d_in},
                         {y.data(), rows, d_out, d_out});
  // step: round once
  return narrow<T>(std::move(y));
}

/// The module: linear with its own weight[d_out, d_in], initially N(0, 2 / (d_in + d_out))
/// truncated at +-3 standard deviations.
template <class T>
class Linear {
 public:
  Tensor<T> weight;

  Linear(std::int64_t d_in, std::int64_t d_out, std::uint64_t seed = 0)
      : weight(empty<T>({positive(d_out, "Linear: d_out"), positive(d_in, "Linear: d_in")})) {
    reset_parameters(seed);
  }

  void reset_parameters(std::uint64_t seed) {
    const auto sizes = static_cast<double>(weight.shape(0) + weight.shape(1));
    fill_truncated_normal(weight, std::sqrt(2 / sizes), seed_of_part(seed, "weight"));
  }

  /// x[..., d_in] -> y[..., d_out]
  Tensor<T> operator()(const Tensor<T>& x) const { return linear(x, weight); }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("weight", self.weight);
  }

  std::string description() const {
    return "Linear(d_in=" + std::to_string(weight.shape(1)) +
           ", d_out=" + std::to_string(weight.shape(0)) + ")";
  }
};

}  // namespace prenorm::reference
