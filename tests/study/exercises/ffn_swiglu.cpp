#include <activations.hpp>
#include <linear.hpp>
using prenorm::reference::linear, prenorm::reference::silu;

Tensor ffn_swiglu(const Tensor& x, const Tensor& w1, const Tensor& w2, const Tensor& w3) {
  const Tensor gated = silu(linear(x, w1)) * linear(x, w3);
  return linear(gated, w2);
}
