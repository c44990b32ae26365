#include <multihead_self_attention.hpp>
using prenorm::reference::causal_mask, prenorm::reference::linear,
    prenorm::reference::scaled_dot_product_attention;

Tensor multihead_self_attention(const Tensor& x, const Tensor& w_q, const Tensor& w_k,
                                const Tensor& w_v, const Tensor& w_o, std::int64_t num_heads) {
  const auto heads = static_cast<std::size_t>(num_heads);
  const auto split = [&](const Tensor& t) {
    return swap_axes(reshape(t, with(batch_of(t, 1), {heads, size(t, -1) / heads})), -3, -2);
  };
  const Tensor q = split(linear(x, w_q)), k = split(linear(x, w_k)), v = split(linear(x, w_v));
  const Tensor y = scaled_dot_product_attention(q, k, v, {causal_mask(size(x, -2))});
  return linear(reshape(swap_axes(y, -3, -2), shape_of(x)), w_o);
}
