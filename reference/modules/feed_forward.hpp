// SwiGLU, and FeedForward without a gate: the feed-forward functions with Linear modules of their
// own.
#pragma once

#include "../feed_forward.hpp"
#include "linear.hpp"

namespace prenorm::reference {

enum class Activation { relu, silu, gelu };

/// ffn_relu, ffn_silu or ffn_gelu with its own two Linear modules; by default, d_ff is
/// 4 d_model.
template <class T>
class FeedForward {
 public:
  Linear<T> w1, w2;
  Activation activation;

  explicit FeedForward(std::int64_t d_model, Seed seed = Seed(0),
                       Activation function = Activation::gelu)
      : FeedForward(d_model, 4 * d_model, seed, function) {}
  FeedForward(std::int64_t d_model, std::int64_t d_ff, Seed seed = Seed(0),
              Activation function = Activation::gelu)
      : w1(d_model, d_ff, seed.of("w1")), w2(d_ff, d_model, seed.of("w2")), activation(function) {}

  void reset_parameters(Seed seed) { reset_parts(*this, seed); }

  /// x[..., d_model] -> y[..., d_model]
  Tensor<T> operator()(const Tensor<T>& x) const {
    switch (activation) {
      case Activation::relu: return ffn_relu(x, w1.weight, w2.weight);
      case Activation::silu: return ffn_silu(x, w1.weight, w2.weight);
      default: return ffn_gelu(x, w1.weight, w2.weight);
    }
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("w1", self.w1);
    visit("w2", self.w2);
  }

  std::string description() const {
    const char* names[] = {"relu", "silu", "gelu"};
    return describe_parts(*this, "FeedForward",
                          std::string("activation=") + names[static_cast<int>(activation)]);
  }
};

/// ffn_swiglu with its own three Linear modules; by default, d_ff is
/// swiglu_d_ff(d_model).
template <class T>
class SwiGLU {
 public:
  Linear<T> w1, w2, w3;

  explicit SwiGLU(std::int64_t d_model, Seed seed = Seed(0))
      : SwiGLU(d_model, swiglu_d_ff(d_model), seed) {}
  SwiGLU(std::int64_t d_model, std::int64_t d_ff, Seed seed = Seed(0))
      : w1(d_model, d_ff, seed.of("w1")),
        w2(d_ff, d_model, seed.of("w2")),
        w3(d_model, d_ff, seed.of("w3")) {}

  void reset_parameters(Seed seed) { reset_parts(*this, seed); }

  /// x[..., d_model] -> y[..., d_model]
  Tensor<T> operator()(const Tensor<T>& x) const {
    return ffn_swiglu(x, w1.weight, w2.weight, w3.weight);
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("w1", self.w1);
    visit("w2", self.w2);
    visit("w3", self.w3);
  }

  std::string description() const { return describe_parts(*this, "SwiGLU"); }
};

}  // namespace prenorm::reference
