// Causal multi-head self-attention:  y = concat(head_0, head_1, ...) w_oᵀ
//
// Head h has d_k = d_model / num_heads of the columns of q, k, v = x w_qᵀ, x w_kᵀ, x w_vᵀ:
//
//   multihead_self_attention             head_h = attention(q_h, k_h, v_h)
//   multihead_self_attention_with_rope   head_h = attention(rope(q_h), rope(k_h), v_h)
//   multihead_self_attention_fused_qkv   as the first, by one product: [q k v] = x w_qkvᵀ
#pragma once

#include "attention.hpp"
#include "linear.hpp"
#include "rope.hpp"

namespace prenorm::reference {

/// x[..., seq, heads * d_k] -> [..., heads, seq, d_k]: heads become a batch axis.
template <class T>
Tensor<T> split_heads(const Tensor<T>& x, std::int64_t num_heads) {
  const auto heads = static_cast<std::size_t>(num_heads);
  return swap_axes(reshape(x, with(batch_of(x, 1), {heads, size(x, -1) / heads})), -3, -2);
}

/// The inverse of split_heads.
template <class T>
Tensor<T> merge_heads(const Tensor<T>& heads) {
  const Tensor<T> rows = swap_axes(heads, -3, -2);
  return reshape(rows, with(batch_of(rows, 2), {size(rows, -2) * size(rows, -1)}));
}

/// mask[seq, seq]: query i attends to the keys j <= i.
inline Tensor<bool> causal_mask(std::size_t seq) {
  Tensor<bool> mask = xt::zeros<bool>({seq, seq});
  for (std::size_t i = 0; i < seq; ++i) xt::view(mask, i, xt::range(0, i + 1)) = true;
  return mask;
}

/// Attention of all heads, q, k, v[..., heads, seq, d_k], and their projection by w_o.
template <class T>
Tensor<T> attend_and_project(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                             const Tensor<T>& w_o) {
  // step: causal attention
  const Tensor<T> heads = scaled_dot_product_attention(q, k, v, causal_mask(size(q, -2)));
  // step: output projection
  return linear(merge_heads(heads), w_o);
}

/// d_k, the width of a head. Throws unless num_heads divides d_model.
inline std::size_t head_width(std::size_t d_model, std::int64_t num_heads) {
  require(num_heads > 0 && d_model % static_cast<std::size_t>(num_heads) == 0,
          "multihead_self_attention: d_model = ", d_model,
          " is not divisible by num_heads = ", num_heads);
  return d_model / static_cast<std::size_t>(num_heads);
}

/// Throws unless x is [..., seq, d_model] with a d_model that num_heads divides, and weights of
/// these shapes are [d_model, d_model].
template <class T>
void check_heads(const Tensor<T>& x, std::int64_t num_heads, std::initializer_list<Shape> weights) {
  const char* const what = "multihead_self_attention: ";
  require(x.dimension() >= 2, what, "x must be [..., seq, d_model], is ", x.shape());
  const std::size_t d_model = size(x, -1);
  head_width(d_model, num_heads);
  const Shape square{d_model, d_model};
  for (const Shape& weight : weights) {
    require(weight == square, what, "every weight must be ", square, ", one is ", weight);
  }
}

/// The heads of q, k and v, [..., heads, seq, d_k], by three products.
template <class T>
std::array<Tensor<T>, 3> separate_heads(const Tensor<T>& x, const Tensor<T>& w_q,
                                        const Tensor<T>& w_k, const Tensor<T>& w_v,
                                        std::int64_t num_heads) {
  // step: projections, heads
  return {split_heads(linear(x, w_q), num_heads), split_heads(linear(x, w_k), num_heads),
          split_heads(linear(x, w_v), num_heads)};
}

/// Causal multi-head self-attention:  y = concat(head_0, head_1, ...) w_oᵀ,
/// head = attention(q_h, k_h, v_h) over the positions up to a query's own; q = x w_qᵀ, and so on.
///
/// Source   Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2; CS336 2025, eq. 12 to 14
/// Shapes   x[..., seq, d_model], w_q, w_k, w_v, w_o[d_model, d_model] -> y[..., seq, d_model]
/// Types    any T; in 16-bit types q, k, v, the heads and y are rounded, scores and sums are not
/// Errors   std::invalid_argument if num_heads does not divide d_model, or a shape does not fit
/// Values   as scaled_dot_product_attention; a query does not attend to later positions
/// Twins    cuda/multihead_self_attention.cu  fixtures/multihead_self_attention.h5
///          tests/reference/test_multihead_self_attention.cpp
///          notebooks/multihead_self_attention.ipynb
template <class T>
Tensor<T> multihead_self_attention(const Tensor<T>& x, const Tensor<T>& w_q, const Tensor<T>& w_k,
                                   const Tensor<T>& w_v, const Tensor<T>& w_o,
                                   std::int64_t num_heads) {
  check_heads(x, num_heads, {shape_of(w_q), shape_of(w_k), shape_of(w_v), shape_of(w_o)});
  const auto [q, k, v] = separate_heads(x, w_q, w_k, w_v, num_heads);
  return attend_and_project(q, k, v, w_o);
}

/// 0, 1, ..., seq - 1: the positions of x[..., seq, d_model] where none are given.
template <class T>
Tensor<std::int64_t> default_positions(const Tensor<T>& x) {
  return xt::arange<std::int64_t>(static_cast<std::int64_t>(size(x, -2)));
}

/// As attend_and_project, but q and k are turned first, by turn(heads, token_positions). These are
/// [..., 1, seq] there: the same for every head of a batch index.
template <class T, class Turn>
Tensor<T> turn_and_attend(const std::array<Tensor<T>, 3>& heads, const Tensor<T>& w_o,
                          const Tensor<std::int64_t>& token_positions, const Turn& turn) {
  const auto& [q, k, v] = heads;
  const Tensor<std::int64_t> at = xt::expand_dims(token_positions, token_positions.dimension() - 1);
  // step: rotation
  const Tensor<T> turned_q = turn(q, at), turned_k = turn(k, at);
  return attend_and_project(turned_q, turned_k, v, w_o);
}

/// Causal multi-head self-attention with RoPE on every head's q and k, over d_k.
///
/// Source   as multihead_self_attention; CS336 2025, section 3.5.5, "Applying RoPE"
/// Shapes   as there, and token_positions[..., seq]: int64, by default 0, 1, ...
/// Types    as there; rotated q and k are rounded too
/// Errors   as there, and those of rope
/// Twins    cuda/multihead_self_attention.cu  fixtures/multihead_self_attention_with_rope.h5
///          notebooks/multihead_self_attention.ipynb
template <class T>
Tensor<T> multihead_self_attention_with_rope(
    const Tensor<T>& x, const Tensor<T>& w_q, const Tensor<T>& w_k, const Tensor<T>& w_v,
    const Tensor<T>& w_o, const std::optional<Tensor<std::int64_t>>& token_positions,
    std::int64_t num_heads, double theta, std::int64_t max_seq_len) {
  check_heads(x, num_heads, {shape_of(w_q), shape_of(w_k), shape_of(w_v), shape_of(w_o)});
  const Tensor<std::int64_t> at = token_positions ? *token_positions : default_positions(x);
  check_rope(size(x, -2), head_width(size(x, -1), num_heads), theta, at, max_seq_len);
  const std::array<Tensor<T>, 3> heads = separate_heads(x, w_q, w_k, w_v, num_heads);
  return turn_and_attend(heads, w_o, at, [&](const Tensor<T>& q_or_k, const auto& positions) {
    return rope(q_or_k, positions, theta, max_seq_len);
  });
}

/// The heads of q, k and v, [..., heads, seq, d_k], by one product with the stacked weights.
template <class T>
std::array<Tensor<T>, 3> fused_heads(const Tensor<T>& x, const Tensor<T>& w_qkv,
                                     std::int64_t num_heads) {
  const std::size_t d_model = size(x, -1);
  require(shape_of(w_qkv) == (Shape{3 * d_model, d_model}),
          "multihead_self_attention_fused_qkv: w_qkv must be [", 3 * d_model, ", ", d_model,
          "], is ", w_qkv.shape());
  // step: projections, heads
  const Tensor<T> qkv = linear(x, w_qkv);
  const auto part = [&](std::size_t i) {
    const Tensor<T> columns =
        xt::strided_view(qkv, {xt::ellipsis(), xt::range(i * d_model, (i + 1) * d_model)});
    return split_heads(columns, num_heads);
  };
  return {part(0), part(1), part(2)};
}

/// Causal multi-head self-attention, q, k and v by one product:  [q k v] = x w_qkvᵀ
///
/// Source   as multihead_self_attention; CS336 2025, section 3.5.5, the footnote
/// Shapes   x[..., seq, d_model], w_qkv[3 d_model, d_model]: w_q, w_k, w_v stacked,
///          w_o[d_model, d_model] -> y[..., seq, d_model]
/// Types    as multihead_self_attention
/// Errors   as there, and std::invalid_argument if w_qkv does not have 3 d_model rows
/// Twins    cuda/multihead_self_attention.cu  fixtures/multihead_self_attention_fused_qkv.h5
///          notebooks/multihead_self_attention.ipynb
template <class T>
Tensor<T> multihead_self_attention_fused_qkv(const Tensor<T>& x, const Tensor<T>& w_qkv,
                                             const Tensor<T>& w_o, std::int64_t num_heads) {
  check_heads(x, num_heads, {shape_of(w_o)});
  const auto [q, k, v] = fused_heads(x, w_qkv, num_heads);
  return attend_and_project(q, k, v, w_o);
}

}  // namespace prenorm::reference
