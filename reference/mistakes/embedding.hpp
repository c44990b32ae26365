// Known mistakes of reference/embedding.hpp.
#pragma once

#include "../fast/embedding.hpp"
#include "mistakes.hpp"

namespace prenorm::mistakes::embedding {

/// The row that is read for an id.
using Row = std::int64_t (*)(std::int64_t id, std::int64_t vocab_size);
inline std::int64_t of_the_id(std::int64_t id, std::int64_t) { return id; }

/// The steps of an embedding; the defaults are right.
struct Steps : AnySteps {
  Row row = of_the_id;
  bool flushes_subnormals = false;

  bool operator==(const Steps&) const = default;
};

inline Wide embedding(const Steps& steps, const Element& t, const Tensor<std::int64_t>& token_ids,
                      const Wide& weight) {
  Tensor<std::int64_t> rows = token_ids;
  const auto vocab_size = static_cast<std::int64_t>(weight.shape(0));
  for (std::int64_t& row : rows) {
    fast::require(row >= 0 && row < vocab_size, "embedding: an id is not in [0, vocab_size)");
    row = steps.row(row, vocab_size);  // step: read the id
  }
  // step: copy the row
  Wide y = fast::embedding<double>(rows, weight);
  return steps.flushes_subnormals ? flushed(t, std::move(y)) : y;
}

/// Rows counted from 1: row id + 1, modulo vocab_size.
inline void id_plus_one(Steps& steps) {
  steps.row = [](std::int64_t id, std::int64_t vocab_size) { return (id + 1) % vocab_size; };
}

/// Row id - 1, modulo vocab_size.
inline void id_minus_one(Steps& steps) {
  steps.row = [](std::int64_t id, std::int64_t vocab_size) {
    return (id + vocab_size - 1) % vocab_size;
  };
}

/// Ids kept in unsigned integers of 16 bits, as files of tokens often are.
inline void ids_in_16_bits(Steps& steps) {
  steps.row = [](std::int64_t id, std::int64_t) { return id & 0xffff; };
}

/// Ids cast with the model, to float16 here: whole numbers up to 2048 only.
inline void ids_in_float16(Steps& steps) {
  steps.row = [](std::int64_t id, std::int64_t vocab_size) {
    const double rounded = static_cast<double>(float16(static_cast<double>(id)));
    return static_cast<std::int64_t>(std::min(rounded, static_cast<double>(vocab_size - 1)));
  };
}

inline void subnormals_flushed(Steps& steps) { steps.flushes_subnormals = true; }

}  // namespace prenorm::mistakes::embedding
