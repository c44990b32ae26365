// Known mistakes of reference/multihead_self_attention.hpp.
#pragma once

#include "../multihead_self_attention.hpp"
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

/// How the steps of multi-head attention can go wrong; the defaults are right.
struct Steps {
  Allowed allowed = causal;
  bool heads_transposed = true;    // [seq, heads, d_k] -> [heads, seq, d_k], not just reshaped
  bool weights_transposed = true;  // y = x Wᵀ
  bool output_projection = true;
  bool turns = true;                    // RoPE at all
  bool turns_without_positions = true;  // RoPE where no token_positions are given
  bool turns_k = true;
  bool turns_v = false;
  bool turns_across_d_model = false;
  bool ignores_positions = false;
  bool scales_by_sqrt_d_model = false;
  bool k_and_v_of_first_head = false;          // in every head
  std::optional<double> theta = std::nullopt;  // instead of the caller's
  std::int64_t position_modulus = 0;           // positions are taken modulo this, if it is not 0
  bool maximum_of_first_tile = false;
  std::optional<double> sentinel = std::nullopt;  // for -infinity
  const Element* sums_in = nullptr;               // T, where sums are rounded to it
};

inline Tensor<double> project(const Tensor<double>& x, const Tensor<double>& w,
                              const Steps& steps) {
  if (steps.sums_in != nullptr) return linear::sums_in_t(*steps.sums_in, x, w);
  if (!steps.weights_transposed) return linear::not_transposed(x, w);
  return reference::linear<double>(x, w);
}

/// The projections of x, [..., seq, d_model] each, to the output.
inline Wide attend(Tensor<double> q, Tensor<double> k, Tensor<double> v, const Wide& w_o,
                   const Positions& token_positions, std::int64_t num_heads,
                   const std::optional<Rope>& rope, const Steps& steps) {
  const auto shape = q.shape();
  const std::size_t seq = shape[shape.size() - 2], d_model = shape.back();
  const auto heads = static_cast<std::size_t>(num_heads);
  if (num_heads < 1 || d_model % heads != 0) throw std::invalid_argument("num_heads");
  const std::size_t d_k = d_model / heads;
  const std::size_t batch = q.size() == 0 ? 0 : q.size() / (seq * d_model);

  // Positions for each sequence of the batch: [batch, 1, seq].
  Tensor<std::int64_t> positions = xt::arange<std::int64_t>(static_cast<std::int64_t>(seq));
  if (token_positions && !steps.ignores_positions) positions = *token_positions;
  if (steps.position_modulus > 0) positions = positions % steps.position_modulus;
  auto leading = shape;
  leading.pop_back();
  positions = Tensor<std::int64_t>(xt::broadcast(positions, leading));
  positions.reshape({batch, std::size_t{1}, seq});

  const auto split = [&](Tensor<double>& x) {
    if (!steps.heads_transposed) {
      x.reshape({batch, heads, seq, d_k});
    } else {
      x.reshape({batch, seq, heads, d_k});
      x = Tensor<double>(xt::transpose(x, {0, 2, 1, 3}));
    }
  };
  const bool turns = rope && steps.turns && (token_positions || steps.turns_without_positions);
  const auto turn = [&](Tensor<double>& x) {
    if (turns)
      x = reference::rope<double>(x, positions, steps.theta.value_or(rope->theta),
                                  rope->max_seq_len);
  };
  const auto turn_across = [&](Tensor<double>& x) {
    x.reshape({batch, std::size_t{1}, seq, d_model});
    turn(x);
  };

  if (steps.turns_across_d_model) {
    turn_across(q);
    turn_across(k);
  }
  split(q), split(k), split(v);
  if (!steps.turns_across_d_model) {
    turn(q);
    if (steps.turns_k) turn(k);
  }
  if (steps.turns_v) turn(v);
  if (steps.scales_by_sqrt_d_model) q /= std::sqrt(static_cast<double>(heads));
  if (steps.k_and_v_of_first_head) {
    for (Tensor<double>* all : {&k, &v}) {
      *all = Tensor<double>(xt::view(*all, xt::all(), xt::range(0, 1), xt::all(), xt::all()));
    }
  }

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
  attention::Steps inner;
  // As in float64: what overflows there overflows in every compute type.
  Element t{dtype_of<double>()};
  if (steps.sums_in != nullptr) t = *steps.sums_in, inner.rounds_sums = true;
  inner.maximum_in_first_tile = steps.maximum_of_first_tile;
  if (steps.sentinel == -1e4) attention::sentinel_minus_1e4(inner);
  if (steps.sentinel == -1e9) attention::sentinel_minus_1e9(inner);
  Tensor<double> y = attention::attend(inner, t, q, k, v, mask, d_model);
  if (steps.heads_transposed) y = Tensor<double>(xt::transpose(y, {0, 2, 1, 3}));
  y.reshape(shape);
  return steps.output_projection ? project(y, w_o, steps) : y;
}

// Each mistake differs from the reference by one of these.
inline constexpr Steps not_causal{
    .allowed = [](std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return true; }};
inline constexpr Steps strictly_causal{
    .allowed = [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j < i; }};
inline constexpr Steps mask_inverted{
    .allowed = [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j > i; }};
inline constexpr Steps causal_by_position{
    .allowed = [](std::int64_t, std::int64_t, std::int64_t p, std::int64_t r) { return r <= p; }};
inline constexpr Steps heads_without_transpose{.heads_transposed = false};
inline constexpr Steps weights_not_transposed{.weights_transposed = false};
inline constexpr Steps no_output_projection{.output_projection = false};
inline constexpr Steps rope_on_v{.turns_v = true};
inline constexpr Steps rope_across_d_model{.turns_across_d_model = true};
inline constexpr Steps positions_ignored{.ignores_positions = true};
inline constexpr Steps scale_by_sqrt_d_model{.scales_by_sqrt_d_model = true};
inline constexpr Steps no_rope{.turns = false};
inline constexpr Steps no_rope_without_positions{.turns_without_positions = false};
inline constexpr Steps rope_on_q_alone{.turns_k = false};
inline constexpr Steps sentinel_minus_1e4{.sentinel = -1e4};
inline constexpr Steps sentinel_minus_1e9{.sentinel = -1e9};
inline constexpr Steps first_head_for_all{.k_and_v_of_first_head = true};
inline constexpr Steps theta_fixed{.theta = 10000.0};
inline constexpr Steps positions_modulo_1024{.position_modulus = 1024};
inline constexpr Steps maximum_of_first_tile{.maximum_of_first_tile = true};

template <const Steps& steps>
Wide plain(const Wide& x, const Wide& w_q, const Wide& w_k, const Wide& w_v, const Wide& w_o,
           std::int64_t num_heads) {
  return attend(project(x, w_q, steps), project(x, w_k, steps), project(x, w_v, steps), w_o,
                std::nullopt, num_heads, std::nullopt, steps);
}

inline Wide plain_sums_in_t(const Element& t, const Wide& x, const Wide& w_q, const Wide& w_k,
                            const Wide& w_v, const Wide& w_o, std::int64_t num_heads) {
  const Steps steps{.sums_in = &t};
  return attend(project(x, w_q, steps), project(x, w_k, steps), project(x, w_v, steps), w_o,
                std::nullopt, num_heads, std::nullopt, steps);
}

template <const Steps& steps>
Wide with_rope(const Wide& x, const Wide& w_q, const Wide& w_k, const Wide& w_v, const Wide& w_o,
               const Positions& token_positions, std::int64_t num_heads, double theta,
               std::int64_t max_seq_len) {
  const Wide all = reference::with_batch_of(x, token_positions);
  return attend(project(all, w_q, steps), project(all, w_k, steps), project(all, w_v, steps), w_o,
                token_positions, num_heads, Rope{theta, max_seq_len}, steps);
}

inline Wide with_rope_sums_in_t(const Element& t, const Wide& x, const Wide& w_q, const Wide& w_k,
                                const Wide& w_v, const Wide& w_o, const Positions& token_positions,
                                std::int64_t num_heads, double theta, std::int64_t max_seq_len) {
  const Steps steps{.sums_in = &t};
  const Wide all = reference::with_batch_of(x, token_positions);
  return attend(project(all, w_q, steps), project(all, w_k, steps), project(all, w_v, steps), w_o,
                token_positions, num_heads, Rope{theta, max_seq_len}, steps);
}

/// Rows first, first + 1, ... of the stacked weight.
inline Tensor<double> rows_of(const Tensor<double>& weight, std::size_t first, std::size_t count) {
  reference::require(first + count <= weight.shape(0), "w_qkv must have 3 d_model rows");
  return xt::view(weight, xt::range(first, first + count), xt::all());
}

inline Wide fused_from(const Tensor<double>& x, const Tensor<double>& q, const Tensor<double>& k,
                       const Tensor<double>& v, const Wide& w_o, std::int64_t num_heads,
                       const Steps& steps) {
  return attend(project(x, q, steps), project(x, k, steps), project(x, v, steps), w_o, std::nullopt,
                num_heads, std::nullopt, steps);
}

template <const Steps& steps>
Wide fused(const Wide& x, const Wide& w_qkv, const Wide& w_o, std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1);
  return fused_from(x, rows_of(w_qkv, 0, d), rows_of(w_qkv, d, d), rows_of(w_qkv, 2 * d, d), w_o,
                    num_heads, steps);
}

inline Wide fused_sums_in_t(const Element& t, const Wide& x, const Wide& w_qkv, const Wide& w_o,
                            std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1);
  return fused_from(x, rows_of(w_qkv, 0, d), rows_of(w_qkv, d, d), rows_of(w_qkv, 2 * d, d), w_o,
                    num_heads, {.sums_in = &t});
}

/// w_qkv read as k, q, v.
inline Wide fused_order_kqv(const Wide& x, const Wide& w_qkv, const Wide& w_o,
                            std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1);
  return fused_from(x, rows_of(w_qkv, d, d), rows_of(w_qkv, 0, d), rows_of(w_qkv, 2 * d, d), w_o,
                    num_heads, {});
}

/// w_qkv read as q, k, v of head 0, then of head 1, ...
inline Wide fused_interleaved_by_head(const Wide& x, const Wide& w_qkv, const Wide& w_o,
                                      std::int64_t num_heads) {
  const std::size_t d = w_qkv.shape(1), heads = static_cast<std::size_t>(num_heads);
  if (num_heads < 1 || d % heads != 0) throw std::invalid_argument("num_heads");
  Tensor<double> by_head = w_qkv;
  by_head.reshape({heads, std::size_t{3}, d / heads, d});
  const auto part = [&](std::size_t which) {
    Tensor<double> rows = xt::view(by_head, xt::all(), which, xt::all(), xt::all());
    rows.reshape({d, d});
    return rows;
  };
  return fused_from(x, part(0), part(1), part(2), w_o, num_heads, {});
}

}  // namespace prenorm::mistakes::multihead_self_attention
