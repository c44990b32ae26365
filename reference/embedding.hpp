// Token embedding.
#pragma once

#include "module.hpp"
#include "tensor.hpp"

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

/// The module: embedding with its own weight[vocab_size, d_model], initially N(0, 1) truncated at
/// +-3.
template <class T>
class Embedding {
 public:
  Tensor<T> weight;

  Embedding(std::int64_t vocab_size, std::int64_t d_model, std::uint64_t seed = 0)
      : weight(empty<T>({positive(vocab_size, "Embedding: vocab_size"),
                         positive(d_model, "Embedding: d_model")})) {
    reset_parameters(seed);
  }

  void reset_parameters(std::uint64_t seed) {
    fill_truncated_normal(weight, 1, seed_of_part(seed, "weight"));
  }

  /// token_ids[...] -> y[..., d_model]
  Tensor<T> operator()(const Tensor<std::int64_t>& token_ids) const {
    return embedding(token_ids, weight);
  }

  template <class Self, class Visit>
  static void visit_parts(Self& self, const Visit& visit) {
    visit("weight", self.weight);
  }

  std::string description() const {
    return "Embedding(" + std::to_string(weight.shape(0)) + ", " + std::to_string(weight.shape(1)) +
           ")";
  }
};

}  // namespace prenorm::reference
