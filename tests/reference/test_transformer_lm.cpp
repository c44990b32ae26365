// The language model: its parts in order, its layers, the module.
#include "transformer_lm.hpp"
#include "parameters.hpp"
#include "reference_testing.hpp"

#include <filesystem>
#include <set>
#include <unistd.h>

using namespace prenorm;
using namespace prenorm::reference;
using namespace prenorm::reference::testing;

BOOST_AUTO_TEST_SUITE(transformer_lm)

constexpr std::int64_t vocab_size = 11, context_length = 16, d_model = 8, num_heads = 2, d_ff = 12;

template <class T>
TransformerLM<T> model(std::int64_t num_layers, std::uint64_t seed = 1) {
  return TransformerLM<T>(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, 10000,
                          1e-5, seed);
}

/// The parameter of every layer that `part` picks, stacked.
template <class T, class Part>
Tensor<T> stacked(const TransformerLM<T>& m, const Part& part) {
  const TransformerLM<T> one = model<T>(1);
  Shape shape = shape_of(part(one.layers[0]));
  shape.insert(shape.begin(), m.layers.size());
  auto all = empty<T>(shape);
  T* to = all.data();
  for (const auto& layer : m.layers) {
    const Tensor<T>& of_one = part(layer);
    to = std::copy(of_one.begin(), of_one.end(), to);
  }
  return all;
}

/// The function with the module's parameters.
template <class T>
Tensor<T> by_function(const TransformerLM<T>& m, const Tensor<std::int64_t>& ids) {
  using Block = TransformerBlock<T>;
  const auto of = [&](auto part) { return stacked<T>(m, part); };
  const auto swiglu = [](const Block& b) -> const SwiGLU<T>& { return std::get<0>(b.ffn); };
  return reference::transformer_lm(
      ids, m.token_embeddings.weight,
      of([](const Block& b) -> const Tensor<T>& { return b.ln1.weight; }),
      of([](const Block& b) -> const Tensor<T>& { return b.attn.q_proj->weight; }),
      of([](const Block& b) -> const Tensor<T>& { return b.attn.k_proj->weight; }),
      of([](const Block& b) -> const Tensor<T>& { return b.attn.v_proj->weight; }),
      of([](const Block& b) -> const Tensor<T>& { return b.attn.output_proj.weight; }),
      of([](const Block& b) -> const Tensor<T>& { return b.ln2.weight; }),
      of([&](const Block& b) -> const Tensor<T>& { return swiglu(b).w1.weight; }),
      of([&](const Block& b) -> const Tensor<T>& { return swiglu(b).w2.weight; }),
      of([&](const Block& b) -> const Tensor<T>& { return swiglu(b).w3.weight; }),
      m.ln_final.weight, m.lm_head.weight, num_heads, 10000, context_length);
}

const auto ids = tensor<std::int64_t>({2, 3}, {10, 0, 4, 4, 4, 7});

BOOST_AUTO_TEST_CASE_TEMPLATE(the_module_calls_the_function, T, AllTypes) {
  for (const std::int64_t num_layers : {0, 1, 3}) {
    const auto m = model<T>(num_layers);
    BOOST_TEST(same(m(ids), by_function(m, ids)));
  }
}

BOOST_AUTO_TEST_CASE(it_is_its_parts_in_order) {
  const auto m = model<double>(2);
  auto x = embedding(ids, m.token_embeddings.weight);
  x = m.layers[1](m.layers[0](x));
  BOOST_TEST(same(m(ids), linear(rmsnorm(x, m.ln_final.weight), m.lm_head.weight)));
  BOOST_TEST(shape_of(m(ids)) == (Shape{2, 3, vocab_size}));
}

BOOST_AUTO_TEST_CASE(a_token_does_not_see_later_ones) {
  const auto m = model<double>(2);
  const auto y = m(ids);
  const auto other = m(tensor<std::int64_t>({2, 3}, {10, 0, 9, 4, 4, 1}));
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t i = 0; i < std::size_t{vocab_size}; ++i) {
      const bool equal = y.data()[row * vocab_size + i] == other.data()[row * vocab_size + i];
      BOOST_TEST(equal == (row % 3 != 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_two_layers_begin_alike) {
  const auto m = model<double>(3);
  std::set<double> first;
  for (const auto& layer : m.layers) {
    first.insert(layer.attn.q_proj->weight.data()[0]);
    first.insert(std::get<0>(layer.ffn).w1.weight.data()[0]);
  }
  BOOST_TEST(first.size() == 6);
  BOOST_TEST(m.layers[0].attn.rope->table() == m.layers[2].attn.rope->table());
  BOOST_TEST(!same(m(ids), model<double>(3, 2)(ids)));
  BOOST_TEST(same(m(ids), model<double>(3, 1)(ids)));
}

BOOST_AUTO_TEST_CASE(names_are_those_of_the_state_dict) {
  std::vector<std::string> names;
  const auto two = model<float>(2);
  for_each_parameter(two, [&](const std::string& name, const auto&) { names.push_back(name); });
  BOOST_REQUIRE(names.size() == 2 * 9 + 3);
  BOOST_TEST(names.front() == "token_embeddings.weight");
  BOOST_TEST(names[1] == "layers.0.ln1.weight");
  BOOST_TEST(names[2] == "layers.0.attn.q_proj.weight");
  BOOST_TEST(names[18] == "layers.1.ffn.w3.weight");
  BOOST_TEST(names[19] == "ln_final.weight");
  BOOST_TEST(names[20] == "lm_head.weight");
}

BOOST_AUTO_TEST_CASE(a_file_brings_it_back) {
  const auto path =
      std::filesystem::temp_directory_path() / ("prenorm_lm_" + std::to_string(::getpid()) + ".h5");
  const auto saved = model<float>(2, 5);
  auto loaded = model<float>(2, 6);
  save_parameters(saved, path.string());
  load_parameters(loaded, path.string());
  BOOST_TEST(same(loaded(ids), saved(ids)));
  auto other = model<float>(1);
  BOOST_CHECK_EXCEPTION(load_parameters(other, path.string()), std::runtime_error,
                        says("is unexpected"));
  std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(errors) {
  const auto m = model<double>(1);
  CHECK_REFUSED(m(tensor<std::int64_t>({1}, {11})), "embedding: token id 11 is not in [0, 11)");
  CHECK_REFUSED(m(Tensor<std::int64_t>(xt::zeros<std::int64_t>({17}))),
                "rope: position 16 is not in");
  CHECK_REFUSED(by_function(m, tensor<std::int64_t>({}, {3})),
                "transformer_lm: token_ids must be [..., seq]");
  CHECK_REFUSED(model<double>(-1), "TransformerLM: num_layers must not be negative, is -1");
  CHECK_REFUSED(TransformerLM<double>(5, 4, 8, 1, 3, 4),
                "d_model = 8 is not divisible by num_heads = 3");
  const auto square = filled<double>({2, 8, 8}, 0), gain = filled<double>({1, 8}, 1);
  const auto wide = filled<double>({1, 12, 8}, 0), back = filled<double>({1, 8, 12}, 0);
  CHECK_REFUSED(reference::transformer_lm(ids, m.token_embeddings.weight, gain, square, square,
                                          square, square, gain, wide, back, wide, m.ln_final.weight,
                                          m.lm_head.weight, 2, 10000, 16),
                "every parameter of the layers must be [1, ...], one is [2, 8, 8]");
}

BOOST_AUTO_TEST_SUITE_END()
