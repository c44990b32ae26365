// Work spread over threads: started and joined within the call, and those of OpenMP, which stay
// when the call has returned and wait for the next.
#include <prenorm/prenorm.hpp>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

using prenorm::View;

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

namespace {

/// Calls work(i) for i in [0, count), each of four threads a part of them.
template <class Work>
void spread(std::int64_t count, Work work) {
  constexpr std::int64_t threads = 4;
  std::vector<std::thread> running;
  for (std::int64_t t = 0; t < threads; ++t) {
    running.emplace_back([=] {
      for (std::int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i) work(i);
    });
  }
  for (std::thread& thread : running) thread.join();
}

}  // namespace

template <class T>
void linear(View<const T> x, View<const T> weight, View<T> y) {
  const std::int64_t d_out = weight.shape(0), d_in = weight.shape(1);
  if (d_in == 0 && y.size() > 0) throw std::invalid_argument("linear: d_in is 0");
  spread(y.size(), [=](std::int64_t i) {
    Real<T> sum = 0;
    for (std::int64_t j = 0; j < d_in; ++j) {
      sum += Real<T>(x[i / d_out * d_in + j]) * Real<T>(weight[i % d_out * d_in + j]);
    }
    y[i] = T(sum);
  });
}

template <class T>
void embedding(View<const std::int64_t> token_ids, View<const T> weight, View<T> y) {
  const std::int64_t d_model = weight.shape(1);
  if (std::any_of(token_ids.begin(), token_ids.end(),
                  [&](std::int64_t id) { return id < 0 || id >= weight.shape(0); })) {
    throw std::out_of_range("embedding: no such token id");
  }
  spread(token_ids.size(), [=](std::int64_t i) {
    std::copy_n(weight.data() + token_ids[i] * d_model, d_model, y.data() + i * d_model);
  });
}

template <class T>
void rmsnorm(View<const T> x, View<const T> weight, double eps, View<T> y) {
  const std::int64_t d_model = weight.size();
  if (d_model == 0) return;
#pragma omp parallel for
  for (std::int64_t row = 0; row < x.size() / d_model; ++row) {
    const T* const a = x.data() + row * d_model;
    Real<T> squares = 0;
    for (std::int64_t j = 0; j < d_model; ++j) squares += Real<T>(a[j]) * Real<T>(a[j]);
    const Real<T> rms = std::sqrt(squares / Real<T>(d_model) + Real<T>(eps));
    for (std::int64_t j = 0; j < d_model; ++j) {
      y[row * d_model + j] = T(Real<T>(a[j]) / rms * Real<T>(weight[j]));
    }
  }
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(linear, linear)
PRENORM_EXPORT(embedding, embedding)
PRENORM_EXPORT(rmsnorm, rmsnorm)
