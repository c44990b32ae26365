// Linear: the function linear with a weight of its own.
#pragma once

#include "../linear.hpp"
#include "module.hpp"

namespace prenorm::reference {

/// linear with its own weight[d_out, d_in], initially N(0, 2 / (d_in + d_out))
/// truncated at +-3 standard deviations.
template <class T>
class Linear {
 public:
  Tensor<T> weight;

  Linear(std::int64_t d_in, std::int64_t d_out, Seed seed = Seed(0))
      : weight(empty<T>({positive(d_out, "Linear: d_out"), positive(d_in, "Linear: d_in")})) {
    reset_parameters(seed);
  }

  explicit Linear(Tensor<T> initial) : weight(std::move(initial)) {}

  void reset_parameters(Seed seed) {
    const auto sizes = static_cast<double>(weight.shape(0) + weight.shape(1));
    fill_truncated_normal(weight, std::sqrt(2 / sizes), seed.of("weight"));
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
