// Embedding: the function embedding with a weight of its own.
#pragma once

#include "../embedding.hpp"
#include "module.hpp"

namespace prenorm::reference {

/// embedding with its own weight[vocab_size, d_model], initially N(0, 1) truncated at +-3.
template <class T>
class Embedding {
 public:
  Tensor<T> weight;

  Embedding(std::int64_t vocab_size, std::int64_t d_model, Seed seed = Seed(0))
      : weight(empty<T>({positive(vocab_size, "Embedding: vocab_size"),
                         positive(d_model, "Embedding: d_model")})) {
    reset_parameters(seed);
  }

  void reset_parameters(Seed seed) { fill_truncated_normal(weight, 1, seed.of("weight")); }

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
