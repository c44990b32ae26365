// Causal multi-head self-attention:  y = concat(head_0, head_1, ...) w_oᵀ
//
// Head h has some of the columns of q, k, v = x w_qᵀ, x w_kᵀ, x w_vᵀ, and each of the three says
// how it attends:
//
//   multihead_self_attention             head_h = attention(q_h, k_h, v_h)
//   multihead_self_attention_with_rope   head_h = attention(rope(q_h), rope(k_h), v_h)
//   multihead_self_attention_fused_qkv   as the first, by one product: [q k v] = x w_qkvᵀ
//
// Contracts: reference/multihead_self_attention.hpp
#pragma once

#include "heads.hpp"
#include "linear.hpp"
#include "rope.hpp"

namespace prenorm::fast {

/// Causal multi-head self-attention:  y = concat(head_0, head_1, ...) w_oᵀ,
/// head = attention(q_h, k_h, v_h) over the positions up to a query's own; q = x w_qᵀ, and so on.
template <class T>
Tensor<T> multihead_self_attention(const Tensor<T>& x, const Tensor<T>& w_q, const Tensor<T>& w_k,
                                   const Tensor<T>& w_v, const Tensor<T>& w_o,
                                   std::int64_t num_heads) {
  check_heads(x, num_heads, {&w_q, &w_k, &w_v, &w_o});
  // step: projections
  const Tensor<T> q = linear(x, w_q), k = linear(x, w_k), v = linear(x, w_v);
  // step: heads, causal attention
  const Tensor<T> heads = causal_heads(q, k, v, num_heads);
  // step: output projection
  return linear(heads, w_o);
}

/// 0, 1, ..., seq - 1: the positions of x[..., seq, d_model] where none are given.
template <class T>
Tensor<std::int64_t> default_positions(const Tensor<T>& x) {
  return xt::arange<std::int64_t>(static_cast<std::int64_t>(x.shape(x.dimension() - 2)));
}

/// Causal multi-head self-attention with RoPE on every head's q and k, over d_k.
template <class T>
Tensor<T> multihead_self_attention_with_rope(
    const Tensor<T>& x, const Tensor<T>& w_q, const Tensor<T>& w_k, const Tensor<T>& w_v,
    const Tensor<T>& w_o, const std::optional<Tensor<std::int64_t>>& token_positions,
    std::int64_t num_heads, double theta, std::int64_t max_seq_len) {
  check_heads(x, num_heads, {&w_q, &w_k, &w_v, &w_o});
  const std::size_t d_k = head_width(x.shape().back(), num_heads);
  const Tensor<std::int64_t> at = token_positions ? *token_positions : default_positions(x);
  check_rope(d_k, theta, at, max_seq_len);
  const Rotations rotations({at.begin(), at.end()}, d_k, theta);
  // step: projections
  const Tensor<T> q = linear(x, w_q), k = linear(x, w_k), v = linear(x, w_v);
  // step: rotation
  const Tensor<T> turned_q = rotate_heads(q, at, d_k, rotations);
  const Tensor<T> turned_k = rotate_heads(k, at, d_k, rotations);
  // step: heads, causal attention
  const Tensor<T> heads = causal_heads(turned_q, turned_k, v, num_heads);
  // step: output projection
  return linear(heads, w_o);
}

/// q, k and v of x[..., seq, d_model], [..., seq, d_model] each, by one product with the stacked
/// weight w_qkv[3 d_model, d_model].
template <class T>
std::array<Tensor<T>, 3> fused_projections(const Tensor<T>& x, const Tensor<T>& w_qkv) {
  const std::size_t d_model = x.shape().back();
  require(shape_of(w_qkv) == (Shape{3 * d_model, d_model}),
          "multihead_self_attention_fused_qkv: w_qkv must be [", 3 * d_model, ", ", d_model,
          "], is ", w_qkv.shape());
  // step: projections
  const Tensor<T> qkv = linear(x, w_qkv);
  const auto part = [&](std::size_t i) {
    return Tensor<T>(
        xt::strided_view(qkv, {xt::ellipsis(), xt::range(i * d_model, (i + 1) * d_model)}));
  };
  return {part(0), part(1), part(2)};
}

/// Causal multi-head self-attention, q, k and v by one product:  [q k v] = x w_qkvᵀ
template <class T>
Tensor<T> multihead_self_attention_fused_qkv(const Tensor<T>& x, const Tensor<T>& w_qkv,
                                             const Tensor<T>& w_o, std::int64_t num_heads) {
  check_heads(x, num_heads, {&w_o});
  const auto [q, k, v] = fused_projections(x, w_qkv);
  // step: heads, causal attention
  const Tensor<T> heads = causal_heads(q, k, v, num_heads);
  // step: output projection
  return linear(heads, w_o);
}

}  // namespace prenorm::fast
