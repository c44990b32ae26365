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

/// Ids kept in unsigned integers of 16 bits, as files of tokens often are.
inline Wide ids_in_16_bits(const Tensor<std::int64_t>& token_ids, const Wide& weight) {
  return reference::embedding<double>(Tensor<std::int64_t>(token_ids & 0xffff), weight);
}

/// Ids cast with the model, to float16 here: whole numbers up to 2048 only.
inline Wide ids_in_float16(const Tensor<std::int64_t>& token_ids, const Wide& weight) {
  Tensor<std::int64_t> ids = token_ids;
  const double last = static_cast<double>(weight.shape(0)) - 1;
  for (std::int64_t& id : ids) {
    const double rounded = static_cast<double>(float16(static_cast<double>(id)));
    id = static_cast<std::int64_t>(std::min(rounded, last));
  }
  return reference::embedding<double>(ids, weight);
}

inline Wide subnormals_flushed(const Element& t, const Tensor<std::int64_t>& token_ids,
                               const Wide& weight) {
  return flushed(t, reference::embedding<double>(token_ids, weight));
}

}  // namespace prenorm::mistakes::embedding
