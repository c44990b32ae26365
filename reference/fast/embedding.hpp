// Token embedding.
// Contracts: reference/embedding.hpp
#pragma once

#include "rows.hpp"

namespace prenorm::fast {

/// Embedding:  y[..., :] = weight[token_ids[...], :]
template <class T>
Tensor<T> embedding(const Tensor<std::int64_t>& token_ids, const Tensor<T>& weight) {
  require(weight.dimension() == 2, "embedding: weight must be [vocab_size, d_model], is ",
          weight.shape());
  const std::size_t vocab_size = weight.shape(0), d_model = weight.shape(1);
  Shape shape = shape_of(token_ids);
  shape.push_back(d_model);
  auto y = empty<T>(shape);
  for (const std::int64_t id : token_ids) {
    // step: check the id
    require(id >= 0 && std::cmp_less(id, vocab_size), "embedding: token id ", id, " is not in [0, ",
            vocab_size, ")");
  }
  parallel_for(token_ids.size(), y.size(), [&](std::size_t i) {
    // step: read the id
    const auto id = static_cast<std::size_t>(token_ids.data()[i]);
    // step: copy the row
    std::copy_n(weight.data() + id * d_model, d_model, y.data() + i * d_model);
  });
  return y;
}

}  // namespace prenorm::fast
