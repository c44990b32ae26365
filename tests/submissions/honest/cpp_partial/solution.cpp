// Work in progress: three problems are solved, one is solved for two element types, one is begun,
// and the others are not there. What is there is right, and earns its points.
#include <prenorm/prenorm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using prenorm::View;

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void linear(View<const T> x, View<const T> weight, View<T> y) {
  const std::int64_t d_out = weight.shape(0), d_in = weight.shape(1);
  if (d_in == 0 && y.size() > 0) throw std::invalid_argument("linear: d_in is 0");
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Real<T> sum = 0;
    for (std::int64_t j = 0; j < d_in; ++j) {
      sum += Real<T>(x[i / d_out * d_in + j]) * Real<T>(weight[i % d_out * d_in + j]);
    }
    y[i] = T(sum);
  }
}

template <class T>
void embedding(View<const std::int64_t> token_ids, View<const T> weight, View<T> y) {
  const std::int64_t d_model = weight.shape(1);
  for (std::int64_t i = 0; i < token_ids.size(); ++i) {
    const std::int64_t id = token_ids[i];
    if (id < 0 || id >= weight.shape(0)) throw std::out_of_range("embedding: no such token id");
    std::copy_n(weight.data() + id * d_model, d_model, y.data() + i * d_model);
  }
}

template <class T>
void rmsnorm(View<const T> x, View<const T> weight, double eps, View<T> y) {
  const std::int64_t d_model = weight.size();
  for (std::int64_t row = 0; row < x.size(); row += d_model) {
    Real<T> squares = 0;
    for (std::int64_t j = row; j < row + d_model; ++j) squares += Real<T>(x[j]) * Real<T>(x[j]);
    const Real<T> rms = std::sqrt(squares / Real<T>(d_model) + Real<T>(eps));
    for (std::int64_t j = 0; j < d_model; ++j) {
      y[row + j] = T(Real<T>(x[row + j]) / rms * Real<T>(weight[j]));
    }
  }
}

/// The last axis only; not yet the others.
template <class T>
void softmax(View<const T> x, std::int64_t dim, View<T> y) {
  const auto axes = static_cast<std::int64_t>(x.dimension());
  if (dim < -axes || dim >= axes) throw std::invalid_argument("softmax: dim is no axis of x");
  if (dim != -1 && dim != axes - 1) throw prenorm::not_implemented();
  const std::int64_t n = x.shape(x.dimension() - 1);
  for (std::int64_t row = 0; row < x.size(); row += n) {
    T maximum = -std::numeric_limits<T>::infinity(), total = 0;
    for (std::int64_t j = row; j < row + n; ++j) maximum = std::max(maximum, x[j]);
    for (std::int64_t j = row; j < row + n; ++j) total += y[j] = std::exp(x[j] - maximum);
    for (std::int64_t j = row; j < row + n; ++j) y[j] /= total;
  }
}

template <class T>
void rope(View<const T>, View<const std::int64_t>, double, std::int64_t, View<T>) {
  throw prenorm::not_implemented("I have yet to understand the pairs");
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(linear, linear)
PRENORM_EXPORT(embedding, embedding)
PRENORM_EXPORT(rmsnorm, rmsnorm)
PRENORM_EXPORT_FOR(softmax, softmax, float, double)
PRENORM_EXPORT(rope, rope)
