// Everything that treats each row, or each element, by itself.
#pragma once

#include "tensor.hpp"

template <class T>
Tensor<T> linear(const Tensor<T>& x, const Tensor<T>& weight) {
  const Size d_out = weight.last(2), d_in = weight.last(1);
  Tensor<T> y(with_last(x, d_out));
  require(d_in > 0 || y.size() == 0, "linear: d_in is 0, there is nothing to sum over");
  for (Size i = 0; i < y.size(); ++i) {
    const T* const row = x.data() + i / d_out * d_in;
    const T* const column = weight.data() + i % d_out * d_in;
    Real<T> sum = 0;
    for (Size j = 0; j < d_in; ++j) sum += Real<T>(row[j]) * Real<T>(column[j]);
    y[i] = T(sum);
  }
  return y;
}

template <class T>
Tensor<T> embedding(const Tensor<std::int64_t>& token_ids, const Tensor<T>& weight) {
  const Size vocab_size = weight.last(2), d_model = weight.last(1);
  std::vector<Size> shape = token_ids.shape();
  shape.push_back(d_model);
  Tensor<T> y(shape);
  for (Size i = 0; i < token_ids.size(); ++i) {
    require(token_ids[i] >= 0 && token_ids[i] < vocab_size, "embedding: no such token id");
    for (Size j = 0; j < d_model; ++j) y[i * d_model + j] = weight[token_ids[i] * d_model + j];
  }
  return y;
}

template <class T>
Tensor<T> rmsnorm(const Tensor<T>& x, const Tensor<T>& weight, double eps) {
  const Size d_model = weight.size();
  Tensor<T> y = x;
  for (Size row = 0; row < x.size(); row += d_model) {
    Real<T> squares = 0;
    for (Size j = 0; j < d_model; ++j) squares += Real<T>(x[row + j]) * Real<T>(x[row + j]);
    const Real<T> rms = std::sqrt(squares / Real<T>(d_model) + Real<T>(eps));
    for (Size j = 0; j < d_model; ++j) {
      y[row + j] = T(Real<T>(x[row + j]) / rms * Real<T>(weight[j]));
    }
  }
  return y;
}

template <class R>
R sigmoid_of(R a) {
  return 1 / (1 + std::exp(-a));
}

template <class T>
Tensor<T> relu(const Tensor<T>& x) {
  return each(x, [](auto a) { return a < 0 ? 0 : a; });  // NaN stays
}

template <class T>
Tensor<T> silu(const Tensor<T>& x) {
  return each(x, [](auto a) { return a / (1 + std::exp(-a)); });
}

template <class T>
Tensor<T> gelu(const Tensor<T>& x) {
  return each(x, [](auto a) { return a * std::erfc(-a / std::sqrt(decltype(a)(2))) / 2; });
}

template <class T>
Tensor<T> product(const Tensor<T>& a, const Tensor<T>& b) {
  return each(a, b, [](auto left, auto right) { return left * right; });
}

template <class T>
Tensor<T> sum(const Tensor<T>& a, const Tensor<T>& b) {
  return each(a, b, [](auto left, auto right) { return left + right; });
}

template <class T>
Tensor<T> glu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  return product(each(linear(x, w1), [](auto a) { return sigmoid_of(a); }), linear(x, w2));
}

template <class T>
Tensor<T> ffn_relu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  return linear(relu(linear(x, w1)), w2);
}

template <class T>
Tensor<T> ffn_silu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  return linear(silu(linear(x, w1)), w2);
}

template <class T>
Tensor<T> ffn_gelu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2) {
  return linear(gelu(linear(x, w1)), w2);
}

template <class T>
Tensor<T> ffn_swiglu(const Tensor<T>& x, const Tensor<T>& w1, const Tensor<T>& w2,
                     const Tensor<T>& w3) {
  return linear(product(silu(linear(x, w1)), linear(x, w3)), w2);
}
