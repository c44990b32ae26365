// Right, and slow in every way that a limit could mistake for a hang: sleeping, searching from the
// beginning for each element, and computing everything many times over.
#include <prenorm/prenorm.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

using prenorm::View;

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void relu(View<const T> x, View<T> y) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] < 0 ? T(0) : x[i];
}

template <class T>
void embedding(View<const std::int64_t> token_ids, View<const T> weight, View<T> y) {
  const std::int64_t d_model = weight.shape(1);
  for (std::int64_t i = 0; i < token_ids.size(); ++i) {
    std::int64_t row = 0;  // looked for, one after the other
    while (row < weight.shape(0) && row != token_ids[i]) ++row;
    if (row == weight.shape(0)) throw std::out_of_range("embedding: no such token id");
    std::copy_n(weight.data() + row * d_model, d_model, y.data() + i * d_model);
  }
}

template <class T>
void rmsnorm(View<const T> x, View<const T> weight, double eps, View<T> y) {
  const std::int64_t d_model = weight.size();
  std::vector<std::vector<Real<T>>> never_used;
  for (std::int64_t i = 0; i < x.size(); ++i) {  // the row's mean anew for each element
    const std::int64_t row = i / d_model * d_model;
    Real<T> squares = 0;
    for (std::int64_t j = row; j < row + d_model; ++j) squares += Real<T>(x[j]) * Real<T>(x[j]);
    never_used.emplace_back(64, squares);
    const Real<T> rms = std::sqrt(squares / Real<T>(d_model) + Real<T>(eps));
    y[i] = T(Real<T>(x[i]) / rms * Real<T>(weight[i - row]));
  }
}

template <class T>
void linear(View<const T> x, View<const T> weight, View<T> y) {
  const std::int64_t d_out = weight.shape(0), d_in = weight.shape(1);
  if (d_in == 0 && y.size() > 0) throw std::invalid_argument("linear: d_in is 0");
  for (int again = 0; again < 5; ++again) {
    for (std::int64_t i = 0; i < y.size(); ++i) {
      Real<T> sum = 0;
      for (std::int64_t j = 0; j < d_in; ++j) {
        sum += Real<T>(x[i / d_out * d_in + j]) * Real<T>(weight[i % d_out * d_in + j]);
      }
      y[i] = T(sum);
    }
  }
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(relu, relu)
PRENORM_EXPORT(embedding, embedding)
PRENORM_EXPORT(rmsnorm, rmsnorm)
PRENORM_EXPORT(linear, linear)
