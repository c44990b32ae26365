// Heads side by side: how multi-head attention reads and writes them, and the checks of its
// tensors.
#pragma once

#include "attention.hpp"

namespace prenorm::fast {

/// d_k, the width of a head.
inline std::size_t head_width(std::size_t d_model, std::int64_t num_heads) {
  require(num_heads > 0 && d_model % static_cast<std::size_t>(num_heads) == 0,
          "multihead_self_attention: d_model = ", d_model,
          " is not divisible by num_heads = ", num_heads);
  return d_model / static_cast<std::size_t>(num_heads);
}

/// Throws unless x is [..., seq, d_model] with a d_model that num_heads divides, and every weight
/// is [d_model, d_model].
template <class T>
void check_heads(const Tensor<T>& x, std::int64_t num_heads,
                 std::initializer_list<const Tensor<T>*> weights) {
  const char* const what = "multihead_self_attention: ";
  require(x.dimension() >= 2, what, "x must be [..., seq, d_model], is ", x.shape());
  const std::size_t d_model = x.shape().back();
  head_width(d_model, num_heads);
  for (const Tensor<T>* weight : weights) {
    const Shape square{d_model, d_model};
    require(shape_of(*weight) == square, what, "every weight must be ", square, ", one is ",
            weight->shape());
  }
}

/// Causal attention of every head of q, k, v[..., seq, d_model]; the results stand side by side.
///
/// Head h has the columns h d_k ... (h + 1) d_k - 1 of q, k, v and y; nothing is copied.
template <class T>
Tensor<T> causal_heads(const Tensor<T>& q, const Tensor<T>& k, const Tensor<T>& v,
                       std::int64_t num_heads) {
  using C = compute_t<T>;
  const std::size_t d_model = q.shape().back(), seq = q.shape(q.dimension() - 2);
  const std::size_t d_k = head_width(d_model, num_heads);
  // Rotated q and k also have the batch axes of the positions.
  Batch batch("multihead_self_attention");
  batch.join(q, 2, "q");
  batch.join(k, 2, "k");
  batch.join(v, 2, "v");
  for (const Tensor<T>* t : {&k, &v}) {
    require(t->shape().back() == d_model && t->shape(t->dimension() - 2) == seq,
            "multihead_self_attention: q, k and v must end in [", seq, ", ", d_model, "], one is ",
            t->shape());
  }
  auto y = empty<C>(batch.with({seq, d_model}));
  if (y.size() == 0) return narrow<T>(std::move(y));
  const Tensor<C>&wide_q = widen(q), &wide_k = widen(k), &wide_v = widen(v);
  const auto heads = static_cast<std::size_t>(num_heads);
  const auto sequence = [&](std::size_t job) {
    const std::size_t b = job / heads, column = job % heads * d_k;
    const auto head = [&](auto& t) {
      return Matrix{t.data() + batch.part(t, 2, b) * seq * d_model + column, seq, d_k, d_model};
    };
    return Sequence<C>{
        .q = head(wide_q), .k = head(wide_k), .v = head(wide_v), .y = head(y), .causal = true};
  };
  share_out(batch.size() * heads, seq, sequence, attend<C>);
  return narrow<T>(std::move(y));
}

}  // namespace prenorm::fast
