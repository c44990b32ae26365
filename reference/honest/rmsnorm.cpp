// Honest variants of rmsnorm.
#include "honest.hpp"

namespace prenorm::honest {

/// A product with 1/sqrt instead of a division by the root.
template <class T>
Wide<T> rmsnorm_rsqrt(const Wide<T>& x, const Wide<T>& weight, double eps) {
  using C = compute_t<T>;
  const std::size_t d_model = weight.size();
  Tensor<C> y = x;
  for (std::size_t row = 0; row * d_model < x.size(); ++row) {
    C* a = y.data() + row * d_model;
    const C sum = std::inner_product(a, a + d_model, a, C(0));
    const C inverse = 1 / std::sqrt(sum / static_cast<C>(d_model) + static_cast<C>(eps));
    for (std::size_t i = 0; i < d_model; ++i) a[i] = a[i] * inverse * weight.data()[i];
  }
  return y;
}

}  // namespace prenorm::honest

using namespace prenorm::honest;

EXPORT_VARIANT(rmsnorm__rsqrt, rmsnorm_rsqrt<T>)
