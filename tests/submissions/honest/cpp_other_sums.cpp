// Right, and not the same from call to call: sums begin at the other end in every second call, as
// those of parallel reductions end in another order.
#include <prenorm/prenorm.hpp>

#include <algorithm>

using prenorm::View;

template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
void linear(View<const T> x, View<const T> weight, View<T> y) {
  static unsigned calls = 0;
  const bool backwards = ++calls % 2 == 0;
  const std::int64_t d_out = weight.shape(0), d_in = weight.shape(1);
  if (d_in == 0 && y.size() > 0) throw std::invalid_argument("linear: d_in is 0");
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Real<T> sum = 0;
    for (std::int64_t j = 0; j < d_in; ++j) {
      const std::int64_t k = backwards ? d_in - 1 - j : j;
      sum += Real<T>(x[i / d_out * d_in + k]) * Real<T>(weight[i % d_out * d_in + k]);
    }
    y[i] = T(sum);
  }
}

template <class T>
void embedding(View<const std::int64_t> token_ids, View<const T> weight, View<T> y) {
  const std::int64_t d_model = weight.shape(1);
  if (std::any_of(token_ids.begin(), token_ids.end(),
                  [&](std::int64_t id) { return id < 0 || id >= weight.shape(0); })) {
    throw std::out_of_range("embedding: no such token id");
  }
  for (std::int64_t i = 0; i < token_ids.size(); ++i) {
    std::copy_n(weight.data() + token_ids[i] * d_model, d_model, y.data() + i * d_model);
  }
}

PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT(linear, linear)
PRENORM_EXPORT(embedding, embedding)
