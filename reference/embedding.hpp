// Token embedding.
#pragma once

#include "tensor.hpp"

#include <utility>

namespace prenorm::reference {

/// Embedding:  y[..., :] = weight[token_ids[...], :]
///
/// Source   CS336 2025, section 3.4.3
/// Shapes   token_ids[...]: int64, weight[vocab_size, d_model] -> y[..., d_model]
/// Types    any T; rows are copied bit for bit
/// Errors   std::invalid_argument if weight does not have two axes, or an id is outside
///          [0, vocab_size)
/// Twins    cuda/embedding.cu  fixtures/embedding.h5  tests/reference/test_embedding.cpp
///          notebooks/embedding.ipynb
template <class T>
Tensor<T> embedding(const Tensor<std::int64_t>& token_ids, const Tensor<T>& weight) {
  require(weight.dimension() == 2, "embedding: weight must be [vocab_size, d_model], is ",
          weight.shape());
  const std::size_t vocab_size = weight.shape(0), d_model = weight.shape(1);
  for (const std::int64_t id : token_ids) {
    // step: check the id
    require(id >= 0 && std::cmp_less(id, vocab_size), "embedding: token id ", id, " is not in [0, ",
            vocab_size, ")");
  }
  const Shape shape = with(shape_of(token_ids), {d_model});
  if (elements(shape) == 0) return empty<T>(shape);
  // step: read the id, copy the row
  const Tensor<T> rows = xt::view(weight, xt::keep(token_ids.storage()), xt::all());
  return reshape(rows, shape);
}

}  // namespace prenorm::reference
