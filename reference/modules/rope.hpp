// RotaryPositionalEmbedding: rope from a table of all positions, which is built once and shared by
// all layers.
#pragma once

#include "../embedding.hpp"
#include "../rope.hpp"
#include "module.hpp"

#include <memory>

namespace prenorm::reference {

/// rope with a table of cosines and sines, a row per position. Copies share the table.
class RotaryPositionalEmbedding {
 public:
  RotaryPositionalEmbedding(double theta, std::int64_t d_k, std::int64_t max_seq_len)
      : theta_(theta), d_k_(d_k), max_seq_len_(max_seq_len) {
    require(theta > 0, "rope: theta must be positive, is ", theta);
    require(d_k > 0 && d_k % 2 == 0, "RotaryPositionalEmbedding: d_k must be even and positive");
    require(max_seq_len > 0, "RotaryPositionalEmbedding: max_seq_len must be positive");
    const Tensor<std::int64_t> positions = xt::arange(max_seq_len);
    table_ = std::make_shared<const Rotations>(
        rotations(positions, static_cast<std::size_t>(d_k), theta));
  }

  /// Nothing is random here: all modules have it.
  void reset_parameters(Seed /*seed*/) {}

  /// x[..., seq, d_k], token_positions[..., seq] -> y of the shape of x. Heads are a batch axis:
  /// x[..., heads, seq, d_k] takes token_positions[..., 1, seq].
  template <class T>
  Tensor<T> operator()(const Tensor<T>& x, const Tensor<std::int64_t>& token_positions) const {
    require(x.dimension() >= 2 && std::cmp_equal(size(x, -1), d_k_),
            "RotaryPositionalEmbedding: x must be [..., seq, ", d_k_, "], is ", x.shape());
    check_rope(size(x, -2), size(x, -1), theta_, token_positions, max_seq_len_);
    // The rows of these positions: the same lookup as that of a token's embedding.
    return rotate(x, {.cos = embedding(token_positions, table_->cos),
                      .sin = embedding(token_positions, table_->sin)});
  }

  std::int64_t d_k() const { return d_k_; }

  /// The table itself: copies of this module share it.
  const std::shared_ptr<const Rotations>& table() const { return table_; }

  /// No parameters: the table is computed, never loaded or saved.
  template <class Self, class Visit>
  static void visit_parts(Self& /*self*/, const Visit& /*visit*/) {}

  std::string description() const {
    return "RotaryPositionalEmbedding(theta=" + to_text(theta_) + ", d_k=" + std::to_string(d_k_) +
           ", max_seq_len=" + std::to_string(max_seq_len_) + ")";
  }

 private:
  double theta_;
  std::int64_t d_k_, max_seq_len_;
  std::shared_ptr<const Rotations> table_;
};

}  // namespace prenorm::reference
