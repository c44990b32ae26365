// The language model: its parts in order, its layers, errors.
#include "transformer_lm.hpp"
#include "reference_testing.hpp"

using namespace prenorm;
using namespace prenorm::room;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(transformer_lm)

constexpr std::size_t vocab_size = 11, d_model = 8, d_ff = 12;

/// The parameters of a model whose layers differ.
template <class T>
struct Model {
  Tensor<T> token_embeddings = random<T>({vocab_size, d_model}, 1, 2);
  Tensor<T> ln1, w_q, w_k, w_v, w_o, ln2, w1, w2, w3;  // [num_layers, ...]
  Tensor<T> ln_final = random<T>({d_model}, 2), lm_head = random<T>({vocab_size, d_model}, 3);

  explicit Model(std::size_t num_layers) {
    std::uint64_t seed = 10;
    for (Tensor<T>* gain : {&ln1, &ln2}) *gain = random<T>({num_layers, d_model}, ++seed, 2);
    for (Tensor<T>* w : {&w_q, &w_k, &w_v, &w_o}) {
      *w = random<T>({num_layers, d_model, d_model}, ++seed, 0.5);
    }
    for (Tensor<T>* w : {&w1, &w3}) *w = random<T>({num_layers, d_ff, d_model}, ++seed, 0.5);
    w2 = random<T>({num_layers, d_model, d_ff}, ++seed, 0.5);
  }

  /// One layer's part of a stacked parameter.
  static Tensor<T> of(const Tensor<T>& stacked, std::size_t layer) {
    return xt::view(stacked, layer);
  }

  // The text takes its parameters as a struct, reference/fast/ one by one, those of layers stacked.
#if defined(PRENORM_TEXT)
  BlockWeights<T> layer(std::size_t i) const {
    return {of(ln1, i),
            {of(w_q, i), of(w_k, i), of(w_v, i), of(w_o, i)},
            of(ln2, i),
            {of(w1, i), of(w2, i), of(w3, i)}};
  }
  Tensor<T> block(const Tensor<T>& x, std::size_t i) const {
    return room::transformer_block(x, layer(i), 2, 10000, 16);
  }
  Tensor<T> operator()(const Tensor<std::int64_t>& token_ids) const {
    LMWeights<T> weights{token_embeddings, {}, ln_final, lm_head};
    for (std::size_t i = 0; i < ln1.shape(0); ++i) weights.layers.push_back(layer(i));
    return room::transformer_lm(token_ids, weights, 2, 10000, 16);
  }
#else
  Tensor<T> block(const Tensor<T>& x, std::size_t i) const {
    return room::transformer_block(x, of(ln1, i), of(w_q, i), of(w_k, i), of(w_v, i), of(w_o, i),
                                   of(ln2, i), of(w1, i), of(w2, i), of(w3, i), 2, 10000, 16);
  }
  Tensor<T> operator()(const Tensor<std::int64_t>& token_ids) const {
    return room::transformer_lm(token_ids, token_embeddings, ln1, w_q, w_k, w_v, w_o, ln2, w1, w2,
                                w3, ln_final, lm_head, 2, 10000, 16);
  }
#endif
};

const auto ids = tensor<std::int64_t>({2, 3}, {10, 0, 4, 4, 4, 7});

BOOST_AUTO_TEST_CASE_TEMPLATE(it_is_its_parts_in_order, T, AllTypes) {
  for (const std::size_t num_layers : {0u, 1u, 3u}) {
    const Model<T> m(num_layers);
    auto x = room::embedding(ids, m.token_embeddings);
    for (std::size_t i = 0; i < num_layers; ++i) x = m.block(x, i);
    BOOST_TEST(same(m(ids), room::linear(room::rmsnorm(x, m.ln_final), m.lm_head)));
    BOOST_TEST(shape_of(m(ids)) == (Shape{2, 3, vocab_size}));
  }
}

BOOST_AUTO_TEST_CASE(a_token_does_not_see_later_ones) {
  const Model<double> m(2);
  const auto y = m(ids);
  const auto other = m(tensor<std::int64_t>({2, 3}, {10, 0, 9, 4, 4, 1}));
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t i = 0; i < vocab_size; ++i) {
      const bool equal = y.data()[row * vocab_size + i] == other.data()[row * vocab_size + i];
      BOOST_TEST(equal == (row % 3 != 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(errors) {
  const Model<double> m(1);
  CHECK_REFUSED(m(tensor<std::int64_t>({1}, {11})), "embedding: token id 11 is not in [0, 11)");
  CHECK_REFUSED(m(Tensor<std::int64_t>(xt::zeros<std::int64_t>({17}))),
                "rope: position 16 is not in");
  CHECK_REFUSED(m(tensor<std::int64_t>({}, {3})), "transformer_lm: token_ids must be [..., seq]");
#if !defined(PRENORM_TEXT)  // there a layer's parameters cannot differ in number
  Model<double> wrong = m;
  wrong.w_q = filled<double>({2, d_model, d_model}, 0);
  CHECK_REFUSED(wrong(ids), "every parameter of the layers must be [1, ...], one is [2, 8, 8]");
#endif
}

BOOST_AUTO_TEST_SUITE_END()
