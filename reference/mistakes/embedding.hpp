// Known mistakes of reference/embedding.hpp.
#pragma once

#include "../embedding.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::embedding {

/// Rows counted from 1: row id + 1, modulo vocab_size.
inline Wide id_plus_one(const Tensor<std::int64_t>& token_ids, const Wide& weight) {
  const auto vocab_size = static_cast<std::int64_t>(weight.shape(0));
  return reference::embedding<double>(Tensor<std::int64_t>((token_ids + 1) % vocab_size), weight);
}

}  // namespace prenorm::mistakes::embedding
