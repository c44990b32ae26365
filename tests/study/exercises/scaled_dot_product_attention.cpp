#include <attention.hpp>

/// One sequence: q[n, d_k], k[m, d_k], v[m, d_v], mask[n, m], true where a query attends to a key.
Tensor attend_to(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor scores = xt::linalg::dot(q, xt::transpose(k)) / std::sqrt(float(q.shape(1)));
  const Tensor visible = xt::where(mask, scores, -infinity);
  const Tensor largest = xt::amax(visible, {1}, xt::keep_dims);
  const Tensor e = xt::exp(visible - largest);
  const Tensor sum = xt::sum(e, {1}, xt::keep_dims);
  const Tensor weights = e / xt::where(xt::equal(sum, 0.0f), 1.0f, sum);
  return xt::linalg::dot(weights, v);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const std::optional<Mask>& given) {
  using prenorm::reference::matrix_at;
  const Mask mask = given ? *given : Mask(xt::ones<bool>({size(q, -2), size(k, -2)}));
  const auto batch = prenorm::reference::broadcast(
      "attention", {batch_of(q, 2), batch_of(k, 2), batch_of(v, 2), batch_of(mask, 2)});
  auto y = empty<float>(with({prenorm::reference::elements(batch)}, {size(q, -2), size(v, -1)}));
  for (std::size_t b = 0; b < y.shape(0) && y.size() > 0; ++b) {
    xt::view(y, b) = attend_to(matrix_at(b, batch, q), matrix_at(b, batch, k),
                               matrix_at(b, batch, v), matrix_at(b, batch, mask));
  }
  return reshape(y, with(batch, {size(q, -2), size(v, -1)}));
}
