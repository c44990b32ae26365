// CausalMultiHeadSelfAttention: the functions of multi-head attention with Linear modules of their
// own, and with a shared RotaryPositionalEmbedding.
#pragma once

#include "../multihead_self_attention.hpp"
#include "linear.hpp"
#include "rope.hpp"

namespace prenorm::reference {

/// How a module holds the weights of q, k and v: in three Linear modules, or stacked in one.
enum class Projections { separate, fused };

/// Causal multi-head self-attention with its own Linear modules, with or without RoPE,
/// q, k and v by three products or by one. Modules that get copies of one RotaryPositionalEmbedding
/// share its table.
template <class T>
class CausalMultiHeadSelfAttention {
 public:
  std::optional<Linear<T>> q_proj, k_proj, v_proj;  // if separate
  std::optional<Linear<T>> qkv_proj;                // if fused: q_proj, k_proj, v_proj stacked
  Linear<T> output_proj;
  std::int64_t num_heads;
  std::optional<RotaryPositionalEmbedding> rope;

  CausalMultiHeadSelfAttention(std::int64_t d_model, std::int64_t heads, Seed seed = Seed(0))
      : CausalMultiHeadSelfAttention(d_model, heads, std::nullopt, seed) {}
  CausalMultiHeadSelfAttention(std::int64_t d_model, std::int64_t heads,
                               std::optional<RotaryPositionalEmbedding> rotations,
                               Seed seed = Seed(0), Projections projections = Projections::separate)
      : output_proj(d_model, d_model, seed.of("output_proj")),
        num_heads(heads),
        rope(std::move(rotations)) {
    const std::size_t d_k = head_width(static_cast<std::size_t>(d_model), heads);
    require(!rope || std::cmp_equal(rope->d_k(), d_k),
            "CausalMultiHeadSelfAttention: the d_k of rope must be ", d_k, ", is ",
            rope ? rope->d_k() : 0);
    if (projections == Projections::fused) {
      qkv_proj.emplace(stacked(static_cast<std::size_t>(d_model), seed.of("qkv_proj")));
    } else {
      q_proj.emplace(d_model, d_model, seed.of("q_proj"));
      k_proj.emplace(d_model, d_model, seed.of("k_proj"));
      v_proj.emplace(d_model, d_model, seed.of("v_proj"));
    }
  }

  void reset_parameters(Seed seed) {
    if (!qkv_proj) return reset_parts(*this, seed);
    output_proj.reset_parameters(seed.of("output_proj"));
    qkv_proj->weight = stacked(qkv_proj->weight.shape(1), seed.of("qkv_proj"));
  }

  /// x[..., seq, d_model], token_positions[..., seq], by default 0, 1, ... -> y[..., seq, d_model]
  Tensor<T> operator()(
      const Tensor<T>& x,
      const std::optional<Tensor<std::int64_t>>& token_positions = std::nullopt) const {
    require(rope || !token_positions, "CausalMultiHeadSelfAttention: token_positions, but no rope");
    const Tensor<T>& w_o = output_proj.weight;
    if (!rope && qkv_proj) {
      return multihead_self_attention_fused_qkv(x, qkv_proj->weight, w_o, num_heads);
    }
    if (!rope) {
      return multihead_self_attention(x, q_proj->weight, k_proj->weight, v_proj->weight, w_o,
                                      num_heads);
    }
    // As multihead_self_attention_with_rope, but with the angles of the shared table.
    check_heads(x, num_heads, {shape_of(w_o)});
    const auto heads =
        qkv_proj ? fused_heads(x, qkv_proj->weight, num_heads)
                 : separate_heads(x, q_proj->weight, k_proj->weight, v_proj->weight, num_heads);
    const auto at = token_positions ? *token_positions : default_positions(x);
    return turn_and_attend(heads, w_o, at, *rope);
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    if (self.qkv_proj) {
      visit("qkv_proj", *self.qkv_proj);
    } else {
      visit("q_proj", *self.q_proj);
      visit("k_proj", *self.k_proj);
      visit("v_proj", *self.v_proj);
    }
    visit("output_proj", self.output_proj);
    if (self.rope) visit("rope", *self.rope);
  }

  std::string description() const {
    return describe_parts(*this, "CausalMultiHeadSelfAttention",
                          "num_heads=" + std::to_string(num_heads));
  }

 private:
  /// Three stacked weights begin as three separate ones do: their deviation is that of a square.
  static Tensor<T> stacked(std::size_t d_model, Seed seed) {
    auto weight = empty<T>({3 * d_model, d_model});
    fill_truncated_normal(weight, std::sqrt(1 / static_cast<double>(d_model)), seed);
    return weight;
  }
};

}  // namespace prenorm::reference
