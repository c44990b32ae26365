// Known mistakes of reference/multihead_self_attention.hpp.
#pragma once

#include "../fast/multihead_self_attention.hpp"
#include "attention.hpp"
#include "linear.hpp"
#include "rope.hpp"

namespace prenorm::mistakes::multihead_self_attention {

using Positions = std::optional<Tensor<std::int64_t>>;

struct Rope {
  double theta;
  std::int64_t max_seq_len;
};

/// What may attend to what; i and j are indices, p and r the positions of query and key.
using Allowed = bool (*)(std::int64_t i, std::int64_t j, std::int64_t p, std::int64_t r);
inline bool causal(std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j <= i; }

/// How heads lie in d_model columns: side by side; or the memory of [seq, d_model] is taken for
/// [heads, seq, d_k]; or component c of head h is column c * num_heads + h.
enum class Layout { side_by_side, of_memory, in_turns };

/// The stacked weight's rows: all of q, k, v; of k, q, v; or q, k, v of each head.
enum class Stacked { qkv, kqv, of_each_head };

/// The steps of multi-head attention, with those of its parts; the defaults are right.
struct Steps : rope::Steps, attention::Steps {
  linear::Steps projections, output;
  bool projects_output = true;
  Stacked stacked = Stacked::qkv;
  Allowed allowed = causal;
  Layout split = Layout::side_by_side, merged = Layout::side_by_side;
  bool one_head = false;
  bool k_and_v_of_first_head = false;  // in every head
  bool turns_q = true, turns_k = true, turns_v = false;
  bool turns_without_positions = true;  // where no token_positions are given
  bool turns_across_d_model = false;
  std::int64_t position_modulus = 0;       // positions are taken modulo this, if it is not 0
  bool positions_of_each_sequence = true;  // or else those of the first for all

  bool operator==(const Steps&) const = default;
};

/// x[..., seq, d_model] as heads, [batch, heads, seq, d_k].
inline Wide split(Layout layout, Wide x, std::size_t batch, std::size_t heads, std::size_t d_k) {
  const std::size_t seq = x.shape(x.dimension() - 2);
  if (layout == Layout::of_memory) {
    x.reshape({batch, heads, seq, d_k});
    return x;
  }
  const bool in_turns = layout == Layout::in_turns;
  x.reshape({batch, seq, in_turns ? d_k : heads, in_turns ? heads : d_k});
  if (in_turns) return xt::transpose(x, {0, 3, 1, 2});
  return xt::transpose(x, {0, 2, 1, 3});
}

/// The other way round: [batch, heads, seq, d_k] as `shape`, [..., seq, d_model].
template <class Shape>
Wide merge(Layout layout, Wide x, const Shape& shape) {
  if (layout == Layout::side_by_side) x = Wide(xt::transpose(x, {0, 2, 1, 3}));
  if (layout == Layout::in_turns) x = Wide(xt::transpose(x, {0, 2, 3, 1}));
  x.reshape(shape);
  return x;
}

/// Positions for each sequence of the batch: [batch, 1, seq].
template <class Shape>
Tensor<std::int64_t> each_position(const Steps& steps, const Positions& token_positions,
                                   const Shape& shape, std::size_t batch) {
  const std::size_t seq = shape[shape.size() - 2];
  Tensor<std::int64_t> positions = xt::arange<std::int64_t>(static_cast<std::int64_t>(seq));
  // step: rotation
  if (token_positions) positions = *token_positions;
  if (steps.position_modulus > 0) positions = positions % steps.position_modulus;

  auto leading = shape;
  leading.pop_back();
  positions = Tensor<std::int64_t>(xt::broadcast(positions, leading));
  positions.reshape({batch, std::size_t{1}, seq});
  // step: rotation
  for (std::size_t i = seq; !steps.positions_of_each_sequence && i < positions.size(); ++i) {
    positions.data()[i] = positions.data()[i - seq];
  }
  return positions;
}

/// The projections of x, [..., seq, d_model] each, to the output.
inline Wide attend(const Steps& steps, const Element& t, Wide q, Wide k, Wide v, const Wide& w_o,
                   const Positions& token_positions, std::int64_t num_heads,
                   const std::optional<Rope>& rope) {
  const auto shape = q.shape();
  const std::size_t seq = shape[shape.size() - 2], d_model = shape.back();
  // step: heads
  const std::size_t d_k = steps.one_head ? d_model : fast::head_width(d_model, num_heads);
  const std::size_t heads = steps.one_head ? 1 : static_cast<std::size_t>(num_heads);

  const std::size_t batch = q.size() == 0 ? 0 : q.size() / (seq * d_model);
  const auto positions = each_position(steps, token_positions, shape, batch);

  // step: rotation
  const bool turns = rope && (token_positions || steps.turns_without_positions);
  const auto turn = [&](Wide& x) {
    x = rope::rope(steps, t, x, positions, rope->theta, rope->max_seq_len);
  };
  for (Wide* x : {&q, &k, &v}) {
    const bool turned = turns && (x == &q   ? steps.turns_q
                                  : x == &k ? steps.turns_k
                                            : steps.turns_v);
    const bool across = steps.turns_across_d_model && x != &v;
    if (turned && across) {
      x->reshape({batch, std::size_t{1}, seq, d_model});
      turn(*x);
      x->reshape(shape);
    }
    *x = split(steps.split, std::move(*x), batch, heads, d_k);  // step: heads
    if (turned && !across) turn(*x);
    // step: heads
    if (steps.k_and_v_of_first_head && x != &q) {
      *x = Wide(xt::view(*x, xt::all(), xt::range(0, 1), xt::all(), xt::all()));
    }
  }

  // step: causal attention
  auto mask = Tensor<bool>::from_shape({batch, std::size_t{1}, seq, seq});
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < seq; ++i) {
      for (std::size_t j = 0; j < seq; ++j) {
        mask.data()[(b * seq + i) * seq + j] =
            steps.allowed(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j),
                          positions.data()[b * seq + i], positions.data()[b * seq + j]);
      }
    }
  }
  // step: causal attention, heads
  const Wide y = merge(steps.merged, attention::attend(steps, t, q, k, v, mask, d_model), shape);
  // step: output projection
  return steps.projects_output ? linear::linear(steps.output, t, y, w_o) : y;
}

inline Wide multihead_self_attention(const Steps& steps, const Element& t, const Wide& x,
                                     const Wide& w_q, const Wide& w_k, const Wide& w_v,
                                     const Wide& w_o, std::int64_t num_heads) {
  fast::check_heads(x, num_heads, {&w_q, &w_k, &w_v, &w_o});
  // step: projections
  const auto project = [&](const Wide& w) { return linear::linear(steps.projections, t, x, w); };
  return attend(steps, t, project(w_q), project(w_k), project(w_v), w_o, std::nullopt, num_heads,
                std::nullopt);
}

inline Wide multihead_self_attention_with_rope(const Steps& steps, const Element& t, const Wide& x,
                                               const Wide& w_q, const Wide& w_k, const Wide& w_v,
                                               const Wide& w_o, const Positions& token_positions,
                                               std::int64_t num_heads, double theta,
                                               std::int64_t max_seq_len) {
  fast::check_heads(x, num_heads, {&w_q, &w_k, &w_v, &w_o});
  const Wide all = fast::with_batch_of(x, token_positions);
  // step: projections
  const auto project = [&](const Wide& w) { return linear::linear(steps.projections, t, all, w); };
  return attend(steps, t, project(w_q), project(w_k), project(w_v), w_o, token_positions, num_heads,
                Rope{theta, max_seq_len});
}

/// w_q, w_k and w_v (0, 1 and 2) of the stacked weight.
inline Wide part_of(const Steps& steps, const Wide& w_qkv, std::size_t which,
                    std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1), heads = static_cast<std::size_t>(num_heads);
  // step: projections
  if (steps.stacked == Stacked::of_each_head) {
    Wide by_head = w_qkv;
    by_head.reshape({heads, std::size_t{3}, d / heads, d});
    Wide rows = xt::view(by_head, xt::all(), which, xt::all(), xt::all());
    rows.reshape({d, d});
    return rows;
  }
  if (steps.stacked == Stacked::kqv && which < 2) which = 1 - which;
  return xt::view(w_qkv, xt::range(which * d, (which + 1) * d), xt::all());
}

inline Wide multihead_self_attention_fused_qkv(const Steps& steps, const Element& t, const Wide& x,
                                               const Wide& w_qkv, const Wide& w_o,
                                               std::int64_t num_heads) {
  fast::check_heads(x, num_heads, {&w_o});
  fast::require(w_qkv.dimension() == 2 && w_qkv.shape(1) == x.shape().back() &&
                    w_qkv.shape(0) == 3 * w_qkv.shape(1),
                "multihead_self_attention_fused_qkv: w_qkv must be [3 d_model, d_model]");
  // step: projections
  const auto project = [&](std::size_t which) {
    return linear::linear(steps.projections, t, x, part_of(steps, w_qkv, which, num_heads));
  };
  return attend(steps, t, project(0), project(1), project(2), w_o, std::nullopt, num_heads,
                std::nullopt);
}

inline void not_causal(Steps& steps) {
  steps.allowed = [](std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return true; };
}
inline void strictly_causal(Steps& steps) {
  steps.allowed = [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j < i; };
}
inline void mask_inverted(Steps& steps) {
  steps.allowed = [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j > i; };
}
inline void upper_triangle(Steps& steps) {
  steps.allowed = [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j >= i; };
}
inline void causal_by_position(Steps& steps) {
  steps.allowed = [](std::int64_t, std::int64_t, std::int64_t p, std::int64_t r) { return r <= p; };
}

/// [seq, d_model] taken for [heads, seq, d_k], and back: by a reshape alone.
inline void heads_without_transpose(Steps& steps) {
  steps.split = steps.merged = Layout::of_memory;
}
/// Split as they should be, but [heads, seq, d_k] becomes [seq, d_model] by a reshape alone.
inline void heads_merged_without_transpose(Steps& steps) { steps.merged = Layout::of_memory; }
/// Component c of head h is column c * num_heads + h.
inline void heads_interleaved(Steps& steps) { steps.split = steps.merged = Layout::in_turns; }
/// One head, d_model wide.
inline void num_heads_ignored(Steps& steps) { steps.one_head = true; }
/// The keys and values of head 0 in every head.
inline void first_head_for_all(Steps& steps) { steps.k_and_v_of_first_head = true; }

inline void weights_not_transposed(Steps& steps) {
  linear::not_transposed(steps.projections);
  linear::not_transposed(steps.output);
}
inline void w_o_not_transposed(Steps& steps) { linear::not_transposed(steps.output); }
inline void no_output_projection(Steps& steps) { steps.projects_output = false; }

/// Scores divided by the root of d_model, and not of d_k.
inline void scale_by_sqrt_d_model(Steps& steps) {
  steps.scores_by = [](const attention::Widths& of) {
    return std::sqrt(static_cast<double>(of.d_model));
  };
}

/// Every sum rounded to T at each step.
inline void sums_in_t(Steps& steps, const Element& t) {
  linear::sums_in_t(steps.projections, t);
  linear::sums_in_t(steps.output, t);
  attention::sums_in_t(steps, t);
}

inline void no_rope(Steps& steps) { steps.turns_q = steps.turns_k = false; }
inline void no_rope_without_positions(Steps& steps) { steps.turns_without_positions = false; }
inline void rope_on_q_alone(Steps& steps) { steps.turns_k = false; }
inline void rope_on_k_alone(Steps& steps) { steps.turns_q = false; }
/// v is turned, too.
inline void rope_on_v(Steps& steps) { steps.turns_v = true; }
/// Before the heads are split.
inline void rope_across_d_model(Steps& steps) { steps.turns_across_d_model = true; }
inline void positions_modulo_1024(Steps& steps) { steps.position_modulus = 1024; }
/// The first sequence's positions for all sequences of the batch.
inline void positions_of_batch_ignored(Steps& steps) { steps.positions_of_each_sequence = false; }

/// w_qkv read as k, q, v.
inline void order_kqv(Steps& steps) { steps.stacked = Stacked::kqv; }
/// w_qkv read as q, k, v of head 0, then of head 1, ...
inline void interleaved_by_head(Steps& steps) { steps.stacked = Stacked::of_each_head; }

}  // namespace prenorm::mistakes::multihead_self_attention
