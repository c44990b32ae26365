// Token embedding.
#pragma once

#include "tensor.hpp"

namespace prenorm::reference {

/// Embedding:  y[..., :] = weight[token_ids[...], :]
///
/// Source   CS336 2025, section 3.4.3
/// Shapes   token_ids[...]: int64, weight[vocab_size, d_model] -> y[..., d_model]
/// Types    any T; rows are copied bit for bit
/// Errors   std::invalid_argument if weight has not two axes, or an id is not in [0, vocab_size)
/// Twins    fixtures/embedding.h5  tests/test_embedding.cpp
template <class T>
Tensor<T> embedding(const Tensor<std::int64_t>& token_ids, const Tensor<T>& weight) {
  require(weight.dimension() == 2, "embedding: weight must be [vocab_size, d_model], is " +
                                       to_text(weight.shape()));
  const std::size_t vocab_size = weight.shape(0), d_model = weight.shape(1);
  Shape shape = shape_of(token_ids);
  shape.push_back(d_model);
  auto y = empty<T>(shape);
  for (std::size_t i = 0; i < token_ids.size(); ++i) {
    const std::int64_t id = token_ids.data()[i];
    require(id >= 0 && std::cmp_less(id, vocab_size),
            "embedding: token id " + std::to_string(id) + " is not in [0, " +
                std::to_string(vocab_size) + ")");
    std::copy_n(weight.data() + static_cast<std::size_t>(id) * d_model, d_model,
                y.data() + i * d_model);
  }
  return y;
}

}  // namespace prenorm::reference
