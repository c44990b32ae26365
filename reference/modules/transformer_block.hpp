// TransformerBlock: the block from modules: two norms, attention, a feed-forward network.
#pragma once

#include "../transformer_block.hpp"
#include "feed_forward.hpp"
#include "multihead_self_attention.hpp"
#include "rmsnorm.hpp"

#include <variant>

namespace prenorm::reference {

/// Which block a module is: transformer_block, transformer_block_post_norm, or the 2024 edition,
/// transformer_block_gelu.
enum class Edition { pre_norm, post_norm, gelu };

/// A Transformer block with its own modules. Blocks that get copies of one
/// RotaryPositionalEmbedding share its table; the 2024 edition takes none.
template <class T>
class TransformerBlock {
 public:
  RMSNorm<T> ln1;
  CausalMultiHeadSelfAttention<T> attn;
  RMSNorm<T> ln2;
  std::variant<SwiGLU<T>, FeedForward<T>> ffn;
  Edition edition;

  TransformerBlock(std::int64_t d_model, std::int64_t num_heads, std::int64_t d_ff,
                   std::optional<RotaryPositionalEmbedding> rope, Seed seed = Seed(0),
                   double eps = 1e-5, Edition which = Edition::pre_norm)
      : ln1(d_model, seed.of("ln1"), eps),
        attn(d_model, num_heads, std::move(rope), seed.of("attn")),
        ln2(d_model, seed.of("ln2"), eps),
        ffn(network(d_model, d_ff, seed.of("ffn"), which)),
        edition(which) {
    require(attn.rope.has_value() == (edition != Edition::gelu), "TransformerBlock: ",
            edition == Edition::gelu ? "the 2024 edition takes no rope" : "rope is missing");
  }

  void reset_parameters(Seed seed) { reset_parts(*this, seed); }

  /// x[..., seq, d_model], token_positions[..., seq], by default 0, 1, ... -> y[..., seq, d_model]
  Tensor<T> operator()(
      const Tensor<T>& x,
      const std::optional<Tensor<std::int64_t>>& token_positions = std::nullopt) const {
    const auto network = [&](const Tensor<T>& a) {
      return std::visit([&](const auto& part) { return part(a); }, ffn);
    };
    if (edition == Edition::post_norm) {
      const Tensor<T> y = ln1(plus(x, attn(x, token_positions)));
      return ln2(plus(y, network(y)));
    }
    const Tensor<T> y = plus(x, attn(ln1(x), token_positions));
    return plus(y, network(ln2(y)));
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("ln1", self.ln1);
    visit("attn", self.attn);
    visit("ln2", self.ln2);
    std::visit([&](auto& part) { visit("ffn", part); }, self.ffn);
  }

  std::string description() const {
    const char* names[] = {"", "post-norm", "2024 edition"};
    return describe_parts(*this, "TransformerBlock", names[static_cast<int>(edition)]);
  }

 private:
  static std::variant<SwiGLU<T>, FeedForward<T>> network(std::int64_t d_model, std::int64_t d_ff,
                                                         Seed seed, Edition which) {
    if (which == Edition::gelu) return FeedForward<T>(d_model, d_ff, seed);
    return SwiGLU<T>(d_model, d_ff, seed);
  }
};

}  // namespace prenorm::reference
