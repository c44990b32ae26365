// RMSNorm: the function rmsnorm with a gain of its own.
#pragma once

#include "../rmsnorm.hpp"
#include "module.hpp"

namespace prenorm::reference {

/// rmsnorm with its own gain weight[d_model], initially 1.
template <class T>
class RMSNorm {
 public:
  Tensor<T> weight;
  double eps;

  explicit RMSNorm(std::int64_t d_model, Seed seed = Seed(0), double epsilon = 1e-5)
      : weight(empty<T>({positive(d_model, "RMSNorm: d_model")})), eps(epsilon) {
    reset_parameters(seed);
  }

  /// Nothing is random here: the seed is a parameter because all modules have it.
  void reset_parameters(Seed /*seed*/) { weight.fill(static_cast<T>(1.0)); }

  /// x[..., d_model] -> y[..., d_model]
  Tensor<T> operator()(const Tensor<T>& x) const { return rmsnorm(x, weight, eps); }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("weight", self.weight);
  }

  std::string description() const {
    return "RMSNorm(" + std::to_string(weight.size()) + ", eps=" + to_text(eps) + ")";
  }
};

}  // namespace prenorm::reference
