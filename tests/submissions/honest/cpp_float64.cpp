// Everything in float64, whatever the element type, and rounded once at the very end: what lies
// between two layers of a feed-forward network is never rounded at all.
#include <prenorm/prenorm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using prenorm::View;
using Size = std::int64_t;
using Vector = std::vector<double>;

namespace {

double& at(Vector& v, Size i) { return v[static_cast<std::size_t>(i)]; }
double at(const Vector& v, Size i) { return v[static_cast<std::size_t>(i)]; }

template <class T>
Vector wide(View<const T> x) {
  Vector values;
  for (const T value : x) values.push_back(static_cast<double>(value));
  return values;
}

template <class T>
void store(const Vector& values, View<T> y) {
  for (Size i = 0; i < y.size(); ++i) y[i] = T(at(values, i));
}

/// x[rows, d_in] weight[d_out, d_in]^T
Vector product(const Vector& x, const Vector& weight, Size d_in, Size d_out) {
  if (d_in == 0) throw std::invalid_argument("a sum over nothing");
  Vector y(x.size() / static_cast<std::size_t>(d_in) * static_cast<std::size_t>(d_out));
  for (Size i = 0; i < static_cast<Size>(y.size()); ++i) {
    for (Size j = 0; j < d_in; ++j) {
      at(y, i) += at(x, i / d_out * d_in + j) * at(weight, i % d_out * d_in + j);
    }
  }
  return y;
}

double silu_of(double a) { return a / (1 + std::exp(-a)); }

}  // namespace

template <class T>
void linear(View<const T> x, View<const T> weight, View<T> y) {
  if (y.size() > 0) store(product(wide(x), wide(weight), weight.shape(1), weight.shape(0)), y);
}

template <class T>
void rmsnorm(View<const T> x, View<const T> weight, double eps, View<T> y) {
  const Size d_model = weight.size();
  const Vector a = wide(x), gain = wide(weight);
  Vector result = a;
  for (Size row = 0; row < x.size(); row += d_model) {
    double squares = 0;
    for (Size j = row; j < row + d_model; ++j) squares += at(a, j) * at(a, j);
    const double rms = std::sqrt(squares / static_cast<double>(d_model) + eps);
    for (Size j = 0; j < d_model; ++j) at(result, row + j) = at(a, row + j) / rms * at(gain, j);
  }
  store(result, y);
}

template <class T>
void silu(View<const T> x, View<T> y) {
  Vector a = wide(x);
  for (double& value : a) value = silu_of(value);
  store(a, y);
}

template <class T>
void gelu(View<const T> x, View<T> y) {
  Vector a = wide(x);
  for (double& value : a) value = value * 0.5 * std::erfc(-value * std::sqrt(0.5));
  store(a, y);
}

template <class T>
void ffn_swiglu(View<const T> x, View<const T> w1, View<const T> w2, View<const T> w3, View<T> y) {
  const Size d_ff = w1.shape(0), d_model = w1.shape(1);
  if (y.size() == 0) return;
  Vector hidden = product(wide(x), wide(w1), d_model, d_ff);
  const Vector gate = product(wide(x), wide(w3), d_model, d_ff);
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] = silu_of(hidden[i]) * gate[i];
  store(product(hidden, wide(w2), d_ff, d_model), y);
}

template <class T>
void softmax(View<const T> x, Size dim, View<T> y) {
  const auto axes = static_cast<Size>(x.dimension());
  if (dim < -axes || dim >= axes) throw std::invalid_argument("softmax: dim is no axis of x");
  const auto axis = static_cast<std::size_t>(dim < 0 ? dim + axes : dim);
  Size inner = 1;
  for (std::size_t after = axis + 1; after < x.dimension(); ++after) inner *= x.shape(after);
  const Size n = x.shape(axis);
  const Vector a = wide(x);
  Vector result = a;
  for (Size first = 0; first < x.size(); ++first) {
    if (first / inner % n != 0) continue;
    double maximum = -std::numeric_limits<double>::infinity(), total = 0;
    for (Size j = 0; j < n; ++j) maximum = std::max(maximum, at(a, first + j * inner));
    for (Size j = 0; j < n; ++j) {
      total += at(result, first + j * inner) = std::exp(at(a, first + j * inner) - maximum);
    }
    for (Size j = 0; j < n; ++j) at(result, first + j * inner) /= total;
  }
  store(result, y);
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(linear, linear)
PRENORM_EXPORT(rmsnorm, rmsnorm)
PRENORM_EXPORT(silu, silu)
PRENORM_EXPORT(gelu, gelu)
PRENORM_EXPORT(ffn_swiglu, ffn_swiglu)
PRENORM_EXPORT(softmax, softmax)
