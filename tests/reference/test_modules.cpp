// Modules: initial values, calls, names, descriptions, files.
#include "modules/parameters.hpp"
#include "modules/transformer_lm.hpp"
#include "reference_testing.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sys/resource.h>

using namespace prenorm;
using namespace prenorm::reference;
using namespace prenorm::testing;

BOOST_AUTO_TEST_SUITE(modules)

/// A path in a folder of its own, which goes when the test ends.
struct File {
  std::filesystem::path folder;
  std::string path;

  File() {
    std::string name = (std::filesystem::temp_directory_path() / "prenorm_modules_XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
    path = (folder / "parameters.h5").string();
  }
  ~File() { std::filesystem::remove_all(folder); }
};

template <class T>
TransformerBlock<T> block(std::uint64_t seed) {
  const RotaryPositionalEmbedding rope(10000, 4, 16);
  return TransformerBlock<T>(8, 2, 12, rope, Seed(seed));
}

template <class T>
BlockWeights<T> weights(const TransformerBlock<T>& m) {
  const auto& a = m.attn;
  const auto& f = std::get<SwiGLU<T>>(m.ffn);
  return {m.ln1.weight,
          {a.q_proj->weight, a.k_proj->weight, a.v_proj->weight, a.output_proj.weight},
          m.ln2.weight,
          {f.w1.weight, f.w2.weight, f.w3.weight}};
}

template <class T>
TransformerLM<T> model(std::int64_t num_layers, std::uint64_t seed = 1) {
  return TransformerLM<T>(11, 16, 8, num_layers, 2, 12, Seed(seed));
}

const auto ids = tensor<std::int64_t>({2, 3}, {10, 0, 4, 4, 4, 7});

template <class Module>
std::vector<std::string> names(const Module& module) {
  std::vector<std::string> list;
  for_each_parameter(module, [&](const std::string& name, const auto&) { list.push_back(name); });
  return list;
}

template <class Module>
std::vector<double> all_values(const Module& module) {
  std::vector<double> list;
  for_each_parameter(module, [&](const std::string&, const auto& parameter) {
    for (const double value : values(parameter)) list.push_back(value);
  });
  return list;
}

/// Largest magnitude, mean and standard deviation.
struct Moments {
  double largest = 0, mean = 0, deviation = 0;

  explicit Moments(const std::vector<double>& list) {
    for (const double value : list) {
      largest = std::max(largest, std::abs(value));
      mean += value / static_cast<double>(list.size());
    }
    for (const double value : list) deviation += (value - mean) * (value - mean);
    deviation = std::sqrt(deviation / static_cast<double>(list.size()));
  }
};

// The standard deviation of N(0, 1) cut at +-3 (mpmath).
constexpr double cut_deviation = 0.98657839255810862;

BOOST_AUTO_TEST_CASE(initial_weights_of_linear) {
  Linear<double> module(300, 500);
  module.reset_parameters(Seed(7));
  const double sigma = std::sqrt(2.0 / 800);
  const Moments moments(values(module.weight));
  // 150,000 numbers: five standard errors of the mean and of the deviation.
  BOOST_TEST(moments.largest <= 3 * sigma);
  BOOST_TEST(moments.largest > 2.95 * sigma);
  BOOST_TEST(std::abs(moments.mean) < 5 * sigma / std::sqrt(150000.0));
  BOOST_TEST(std::abs(moments.deviation / sigma - cut_deviation) < 5 / std::sqrt(300000.0));
}

BOOST_AUTO_TEST_CASE(initial_weights_of_embedding_and_gain) {
  Embedding<double> module(1000, 150);
  module.reset_parameters(Seed(8));
  const auto list = values(module.weight);
  const Moments moments(list);
  BOOST_TEST(moments.largest <= 3);
  BOOST_TEST(std::abs(moments.mean) < 5 / std::sqrt(150000.0));
  BOOST_TEST(std::abs(moments.deviation - cut_deviation) < 5 / std::sqrt(300000.0));
  // Drawn again, not clamped: nothing piles up at the border, where the density is 0.0044.
  const auto near =
      std::count_if(list.begin(), list.end(), [](double a) { return std::abs(a) > 2.99; });
  BOOST_TEST(near > 5);
  BOOST_TEST(near < 35);
  BOOST_TEST(same(RMSNorm<float>(5).weight, filled<float>({5}, 1)));
}

BOOST_AUTO_TEST_CASE(the_law_is_normal_inside) {
  TruncatedNormal normal(Seed(3));
  int within_1 = 0, within_2 = 0, positive_ones = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = normal();
    within_1 += std::abs(value) < 1;
    within_2 += std::abs(value) < 2;
    positive_ones += value > 0;
  }
  BOOST_TEST(std::abs(within_1 / 1e5 - 0.6845401) < 0.0075);  // 0.6826895 / 0.9973002
  BOOST_TEST(std::abs(within_2 / 1e5 - 0.9570836) < 0.0035);
  BOOST_TEST(std::abs(positive_ones / 1e5 - 0.5) < 0.008);
}

BOOST_AUTO_TEST_CASE(the_seed_decides) {
  BOOST_TEST(all_values(block<float>(1)) == all_values(block<float>(1)));
  BOOST_TEST(all_values(block<float>(1)) != all_values(block<float>(2)));
  // Set on construction already, as by seed 0, and as reset_parameters sets them.
  const auto resets = [](auto module, const auto& wanted) {
    module.reset_parameters(Seed(9));
    return all_values(module) == all_values(wanted);
  };
  BOOST_TEST(resets(block<float>(1), block<float>(9)));
  BOOST_TEST(resets(model<float>(2, 1), model<float>(2, 9)));
  const auto fused = [](std::uint64_t seed) {
    return CausalMultiHeadSelfAttention<float>(8, 2, std::nullopt, Seed(seed), Projections::fused);
  };
  BOOST_TEST(resets(fused(1), fused(9)));
  const RotaryPositionalEmbedding rope(10000, 4, 16);
  BOOST_TEST(all_values(TransformerBlock<float>(8, 2, 12, rope)) == all_values(block<float>(0)));
  // The same numbers everywhere: mt19937_64 is fixed by the standard.
  TruncatedNormal normal(Seed(1));
  const std::vector<double> known = {1.312851528985561, 1.2506039211781215, 1.2285219999610568,
                                     1.0957496171508982};
  for (const double value : known)
    BOOST_TEST(normal() == value, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_seed_is_no_size) {
  BOOST_TEST(shape_of(SwiGLU<float>(512, 7).w1.weight) == (Shape{7, 512}));
  BOOST_TEST(shape_of(SwiGLU<float>(24, Seed(7)).w1.weight) == (Shape{64, 24}));
  BOOST_TEST(all_values(SwiGLU<float>(8, Seed(7))) == all_values(SwiGLU<float>(8, 64, Seed(7))));
  BOOST_TEST(shape_of(FeedForward<float>(8, 7).w1.weight) == (Shape{7, 8}));
  BOOST_TEST(all_values(FeedForward<float>(8, Seed(7))) ==
             all_values(FeedForward<float>(8, 32, Seed(7))));
  BOOST_TEST(all_values(Linear<float>(2, 3, Seed(7))) != all_values(Linear<float>(2, 3)));
  BOOST_TEST(all_values(Embedding<float>(2, 3, Seed(7))) != all_values(Embedding<float>(2, 3)));
  BOOST_TEST(all_values(RMSNorm<float>(3, Seed(7))) == all_values(RMSNorm<float>(3)));
  static_assert(!std::is_convertible_v<int, Seed>);
}

BOOST_AUTO_TEST_CASE(no_two_parameters_are_alike) {
  const auto module = block<double>(5);
  std::map<double, std::string> first;
  for_each_parameter(module, [&](const std::string& name, const Tensor<double>& parameter) {
    if (name.starts_with("ln")) return;
    // In units of sigma, for shapes differ.
    const double sigma =
        std::sqrt(2.0 / static_cast<double>(parameter.shape(0) + parameter.shape(1)));
    const double value = std::round(parameter.data()[0] / sigma * 1e9);
    const auto [other, is_new] = first.emplace(value, name);
    BOOST_TEST(is_new, name << " begins as " << other->second);
  });
  BOOST_TEST(first.size() == 7);
}

BOOST_AUTO_TEST_CASE(names_are_those_of_the_state_dict) {
  const std::vector<std::string> wanted = {
      "ln1.weight",         "attn.q_proj.weight",      "attn.k_proj.weight",
      "attn.v_proj.weight", "attn.output_proj.weight", "ln2.weight",
      "ffn.w1.weight",      "ffn.w2.weight",           "ffn.w3.weight"};
  BOOST_TEST(names(block<float>(1)) == wanted);
  BOOST_TEST(names(Linear<float>(2, 3)) == std::vector<std::string>{"weight"});
  BOOST_TEST(names(RotaryPositionalEmbedding(10000, 4, 16)).empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(calls_are_those_of_the_functions, T, AllTypes) {
  const auto module = block<T>(3);
  const auto x = random<T>({2, 5, 8}, 1);
  const auto& a = module.attn;
  const auto& f = std::get<SwiGLU<T>>(module.ffn);
  const Tensor<T>&w_q = a.q_proj->weight, &w_k = a.k_proj->weight, &w_v = a.v_proj->weight;
  const Tensor<T>& w_o = a.output_proj.weight;
  BOOST_TEST(same(module(x), room::transformer_block(x, weights(module), 2, 10000, 16)));
  const auto at = tensor<std::int64_t>({5}, {15, 1, 1, 0, 7});
  BOOST_TEST(same(a(x, at), multihead_self_attention_with_rope(x, w_q, w_k, w_v, w_o,
                                                               std::optional(at), 2, 10000, 16)));
  const CausalMultiHeadSelfAttention<T> plain(8, 2, Seed(3));
  BOOST_TEST(same(
      plain(x), room::multihead_self_attention(x, plain.q_proj->weight, plain.k_proj->weight,
                                               plain.v_proj->weight, plain.output_proj.weight, 2)));
  BOOST_TEST(same(f(x), ffn_swiglu(x, f.w1.weight, f.w2.weight, f.w3.weight)));
  BOOST_TEST(same(f.w1(x), room::linear(x, f.w1.weight)));
  BOOST_TEST(same(RMSNorm<T>(8, Seed(0), 0.5)(x), room::rmsnorm(x, filled<T>({8}, 1), 0.5)));
  const Embedding<T> words(4, 3);
  const auto ids = tensor<std::int64_t>({2}, {3, 0});
  BOOST_TEST(same(words(ids), room::embedding(ids, words.weight)));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_other_editions_of_the_block, T, AllTypes) {
  const auto x = random<T>({2, 5, 8}, 1);
  const RotaryPositionalEmbedding rope(10000, 4, 16);
  const TransformerBlock<T> post(8, 2, 12, rope, Seed(4), 1e-5, Edition::post_norm);
  BOOST_TEST(same(post(x), transformer_block_post_norm(x, weights(post), 2, 10000, 16)));
  const TransformerBlock<T> gelu(8, 2, 12, std::nullopt, Seed(5), 1e-5, Edition::gelu);
  const auto& a = gelu.attn;
  const auto& g = std::get<FeedForward<T>>(gelu.ffn);
  const BlockWeights<T, GELUWeights> of_gelu{
      gelu.ln1.weight,
      {a.q_proj->weight, a.k_proj->weight, a.v_proj->weight, a.output_proj.weight},
      gelu.ln2.weight,
      {g.w1.weight, g.w2.weight}};
  BOOST_TEST(same(gelu(x), transformer_block_gelu(x, of_gelu, 2)));
  BOOST_TEST(names(gelu).back() == "ffn.w2.weight");
  CHECK_REFUSED(TransformerBlock<T>(8, 2, 12, rope, Seed(0), 1e-5, Edition::gelu),
                "the 2024 edition takes no rope");
  CHECK_REFUSED(TransformerBlock<T>(8, 2, 12, std::nullopt), "TransformerBlock: rope is missing");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(networks_without_a_gate, T, AllTypes) {
  const auto x = random<T>({3, 8}, 1);
  const FeedForward<T> relu(8, Seed(0), Activation::relu), silu(8, 12, Seed(2), Activation::silu),
      gelu(8);
  BOOST_TEST(same(relu(x), ffn_relu(x, relu.w1.weight, relu.w2.weight)));
  BOOST_TEST(same(silu(x), ffn_silu(x, silu.w1.weight, silu.w2.weight)));
  BOOST_TEST(same(gelu(x), ffn_gelu(x, gelu.w1.weight, gelu.w2.weight)));
  BOOST_TEST(shape_of(gelu.w1.weight) == (Shape{32, 8}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(fused_projections_are_the_separate_ones_stacked, T, AllTypes) {
  const auto x = random<T>({2, 5, 8}, 1);
  const auto at = tensor<std::int64_t>({5}, {15, 1, 1, 0, 7});
  const RotaryPositionalEmbedding rope(10000, 4, 16);
  for (const bool turns : {false, true}) {
    const auto rotations = turns ? std::optional(rope) : std::nullopt;
    const CausalMultiHeadSelfAttention<T> fused(8, 2, rotations, Seed(6), Projections::fused);
    CausalMultiHeadSelfAttention<T> separate(8, 2, rotations);
    const T* from = fused.qkv_proj->weight.data();
    for (auto* part : {&separate.q_proj, &separate.k_proj, &separate.v_proj}) {
      std::copy_n(from, 64, (*part)->weight.data());
      from += 64;
    }
    separate.output_proj = fused.output_proj;
    BOOST_TEST(names(fused) == (std::vector<std::string>{"qkv_proj.weight", "output_proj.weight"}));
    BOOST_TEST(close(fused(x), separate(x), 16 * epsilon<T>()));
    if (turns) BOOST_TEST(close(fused(x, at), separate(x, at), 16 * epsilon<T>()));
  }
  // The deviation is that of a square weight.
  const CausalMultiHeadSelfAttention<double> wide(128, 2, std::nullopt, Seed(0),
                                                  Projections::fused);
  const Moments moments(values(wide.qkv_proj->weight));
  BOOST_TEST(std::abs(moments.deviation * std::sqrt(128.0) / cut_deviation - 1) < 0.02);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_module_says_the_same_from_its_table, T, AllTypes) {
  const RotaryPositionalEmbedding module(500000, 8, 100);
  const auto x = random<T>({2, 3, 8}, 1);
  const auto at = tensor<std::int64_t>({3}, {99, 0, 42});
  BOOST_TEST(same(module(x, at), room::rope(x, at, 500000, 100)));
  // Heads are a batch axis: each of a batch has its own positions, its heads share them.
  const auto heads = random<T>({2, 4, 3, 8}, 2);
  const auto of_each = tensor<std::int64_t>({2, 1, 3}, {99, 0, 42, 1, 1, 7});
  BOOST_TEST(same(module(heads, of_each), room::rope(heads, of_each, 500000, 100)));
}

BOOST_AUTO_TEST_CASE(the_table_is_built_once_and_shared) {
  const RotaryPositionalEmbedding module(10000, 8, 100);
  const auto copy = module;
  BOOST_TEST(copy.table() == module.table());
  const TransformerBlock<float> block(16, 2, 12, module);
  BOOST_TEST(TransformerBlock<float>(block).attn.rope->table() == module.table());
  BOOST_TEST(shape_of(module.table()->cos) == (Shape{100, 4}));
  BOOST_TEST(module.description() ==
             "RotaryPositionalEmbedding(theta=10000, d_k=8, max_seq_len=100)");
}

BOOST_AUTO_TEST_CASE(errors_of_the_module) {
  CHECK_REFUSED(RotaryPositionalEmbedding(10000, 7, 10), "d_k must be even and positive");
  CHECK_REFUSED(RotaryPositionalEmbedding(10000, 8, 0), "max_seq_len must be positive");
  for (const double theta : {0.0, -1.0, NaN}) {
    CHECK_REFUSED(RotaryPositionalEmbedding(theta, 8, 10), "rope: theta must be positive");
  }
  const RotaryPositionalEmbedding module(10000, 8, 10);
  CHECK_REFUSED(module(filled<double>({1, 12}, 1), tensor<std::int64_t>({1}, {0})),
                "x must be [..., seq, 8], is [1, 12]");
  // Heads that were not split are no d_k.
  CHECK_REFUSED(module(filled<double>({1, 16}, 1), tensor<std::int64_t>({1}, {0})),
                "x must be [..., seq, 8], is [1, 16]");
  CHECK_REFUSED(module(filled<double>({1, 8}, 1), tensor<std::int64_t>({1}, {10})),
                "position 10 is not in [0, max_seq_len = 10)");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_language_model_is_its_function, T, AllTypes) {
  for (const std::int64_t num_layers : {0, 1, 3}) {
    const auto m = model<T>(num_layers);
    LMWeights<T> all{m.token_embeddings.weight, {}, m.ln_final.weight, m.lm_head.weight};
    for (const auto& layer : m.layers) all.layers.push_back(weights(layer));
    BOOST_TEST(same(m(ids), room::transformer_lm(ids, all, 2, 10000, 16)));
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

BOOST_AUTO_TEST_CASE(names_of_a_language_model) {
  const auto list = names(model<float>(2));
  BOOST_REQUIRE(list.size() == 2 * 9 + 3);
  BOOST_TEST(list.front() == "token_embeddings.weight");
  BOOST_TEST(list[1] == "layers.0.ln1.weight");
  BOOST_TEST(list[2] == "layers.0.attn.q_proj.weight");
  BOOST_TEST(list[18] == "layers.1.ffn.w3.weight");
  BOOST_TEST(list[19] == "ln_final.weight");
  BOOST_TEST(list[20] == "lm_head.weight");
}

BOOST_AUTO_TEST_CASE(a_file_brings_a_language_model_back) {
  const File file;
  const auto saved = model<float>(2, 5);
  auto loaded = model<float>(2, 6);
  save_parameters(saved, file.path);
  load_parameters(loaded, file.path);
  BOOST_TEST(same(loaded(ids), saved(ids)));
  auto other = model<float>(1);
  BOOST_CHECK_EXCEPTION(load_parameters(other, file.path), std::runtime_error,
                        says("is unexpected"));
}

BOOST_AUTO_TEST_CASE(descriptions) {
  const auto text = [](const auto& module) {
    std::ostringstream out;
    out << module;
    return out.str();
  };
  BOOST_TEST(text(Linear<float>(512, 1344)) == "Linear(d_in=512, d_out=1344)");
  BOOST_TEST(text(Embedding<float>(100, 16)) == "Embedding(100, 16)");
  BOOST_TEST(text(RMSNorm<float>(64)) == "RMSNorm(64, eps=1e-05)");
  BOOST_TEST(text(SwiGLU<float>(64)) ==
             "SwiGLU(\n"
             "  (w1): Linear(d_in=64, d_out=192)\n"
             "  (w2): Linear(d_in=192, d_out=64)\n"
             "  (w3): Linear(d_in=64, d_out=192)\n"
             ")");
  BOOST_TEST(text(CausalMultiHeadSelfAttention<float>(4, 2)) ==
             "CausalMultiHeadSelfAttention(\n"
             "  num_heads=2\n"
             "  (q_proj): Linear(d_in=4, d_out=4)\n"
             "  (k_proj): Linear(d_in=4, d_out=4)\n"
             "  (v_proj): Linear(d_in=4, d_out=4)\n"
             "  (output_proj): Linear(d_in=4, d_out=4)\n"
             ")");
  BOOST_TEST(text(block<float>(0)) ==
             "TransformerBlock(\n"
             "  (ln1): RMSNorm(8, eps=1e-05)\n"
             "  (attn): CausalMultiHeadSelfAttention(\n"
             "    num_heads=2\n"
             "    (q_proj): Linear(d_in=8, d_out=8)\n"
             "    (k_proj): Linear(d_in=8, d_out=8)\n"
             "    (v_proj): Linear(d_in=8, d_out=8)\n"
             "    (output_proj): Linear(d_in=8, d_out=8)\n"
             "    (rope): RotaryPositionalEmbedding(theta=10000, d_k=4, max_seq_len=16)\n"
             "  )\n"
             "  (ln2): RMSNorm(8, eps=1e-05)\n"
             "  (ffn): SwiGLU(\n"
             "    (w1): Linear(d_in=8, d_out=12)\n"
             "    (w2): Linear(d_in=12, d_out=8)\n"
             "    (w3): Linear(d_in=8, d_out=12)\n"
             "  )\n"
             ")");
}

BOOST_AUTO_TEST_CASE(errors_of_construction) {
  CHECK_REFUSED(Linear<float>(0, 3), "Linear: d_in must be positive, is 0");
  CHECK_REFUSED(Embedding<float>(-1, 3), "Embedding: vocab_size must be positive, is -1");
  CHECK_REFUSED(CausalMultiHeadSelfAttention<float>(8, 3),
                "d_model = 8 is not divisible by num_heads = 3");
  const RotaryPositionalEmbedding rope(10000, 8, 16);
  CHECK_REFUSED(CausalMultiHeadSelfAttention<float>(8, 2, rope), "the d_k of rope must be 4, is 8");
  for (const auto projections : {Projections::separate, Projections::fused}) {
    const RotaryPositionalEmbedding turning(10000, 4, 16);
    using Rotations = std::optional<RotaryPositionalEmbedding>;
    for (const Rotations& rotations : {Rotations(), Rotations(turning)}) {
      CausalMultiHeadSelfAttention<float> wrong(8, 2, rotations, Seed(0), projections);
      auto& weight = wrong.qkv_proj ? wrong.qkv_proj->weight : wrong.k_proj->weight;
      weight = filled<float>({wrong.qkv_proj ? std::size_t{16} : std::size_t{4}, 8}, 1);
      BOOST_CHECK_THROW(wrong(filled<float>({3, 8}, 1)), std::invalid_argument);
    }
  }
  CHECK_REFUSED(model<double>(-1), "TransformerLM: num_layers must not be negative, is -1");
  CHECK_REFUSED(TransformerLM<double>(5, 4, 8, 1, 3, 4),
                "d_model = 8 is not divisible by num_heads = 3");
  const CausalMultiHeadSelfAttention<float> plain(8, 2);
  CHECK_REFUSED(plain(filled<float>({1, 8}, 1), tensor<std::int64_t>({1}, {0})),
                "token_positions, but no rope");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_brings_every_bit_back, T, AllTypes) {
  const File file;
  auto saved = block<T>(1), loaded = block<T>(2);
  saved.ln1.weight = tensor<T>({8}, {0.0, -0.0, infinity, -infinity, 1e-7, -1, 2, NaN});
  save_parameters(saved, file.path);
  load_parameters(loaded, file.path);
  BOOST_TEST(same(loaded.ln1.weight, saved.ln1.weight));
  BOOST_TEST(std::signbit(values(loaded.ln1.weight)[1]));
  saved.ln1.weight = loaded.ln1.weight = filled<T>({8}, 1);
  BOOST_TEST(all_values(loaded) == all_values(saved));
  BOOST_TEST(all_values(loaded) != all_values(block<T>(2)));
}

BOOST_AUTO_TEST_CASE(the_types_on_disk) {
  const File file;
  const auto stored = [&](const auto& module) {
    save_parameters(module, file.path);
    return H5::H5File(file.path, H5F_ACC_RDONLY).openDataSet("weight").getFloatType();
  };
  const auto fields = [](const H5::FloatType& type) {
    std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
    type.getFields(sign, exponent, exponent_bits, mantissa, mantissa_bits);
    return std::vector<std::size_t>{type.getSize(), sign,          exponent,       exponent_bits,
                                    mantissa,       mantissa_bits, type.getEbias()};
  };
  BOOST_TEST(fields(stored(Linear<float16>(2, 3))) ==
             (std::vector<std::size_t>{2, 15, 10, 5, 0, 10, 15}));
  BOOST_TEST(fields(stored(Linear<bfloat16>(2, 3))) ==
             (std::vector<std::size_t>{2, 15, 7, 8, 0, 7, 127}));
  BOOST_TEST((stored(Linear<float>(2, 3)) == H5::PredType::IEEE_F32LE));
  BOOST_TEST((stored(Linear<double>(2, 3)) == H5::PredType::IEEE_F64LE));
}

BOOST_AUTO_TEST_CASE(wrong_files) {
  const File file;
  Linear<float> module(2, 3);
  const auto before = all_values(module);
  const auto fails = [&](const std::string& message) {
    BOOST_CHECK_EXCEPTION(load_parameters(module, file.path), std::runtime_error, says(message));
    BOOST_TEST(all_values(module) == before);
  };
  fails("parameters.h5: cannot load parameters");  // there is none
  std::ofstream(file.path) << "no HDF5";
  fails("parameters.h5: cannot load parameters");
  H5::H5File(file.path, H5F_ACC_TRUNC);
  fails("parameters.h5: weight is missing, wanted float32[3, 2]");
  H5::H5File(file.path, H5F_ACC_TRUNC).createGroup("weight");
  fails("parameters.h5: weight is no dataset, wanted float32[3, 2]");
  save_parameters(Linear<float>(3, 2), file.path);
  fails("parameters.h5: weight is float32[2, 3], wanted float32[3, 2]");
  save_parameters(RMSNorm<float>(6), file.path);
  fails("parameters.h5: weight is float32[6], wanted float32[3, 2]");
  for (const auto& [save, name] : std::vector<std::pair<std::function<void()>, std::string>>{
           {[&] { save_parameters(Linear<double>(2, 3), file.path); }, "float64"},
           {[&] { save_parameters(Linear<float16>(2, 3), file.path); }, "float16"},
           {[&] { save_parameters(Linear<bfloat16>(2, 3), file.path); }, "bfloat16"}}) {
    save();
    fails("parameters.h5: weight is " + name + "[3, 2], wanted float32[3, 2]");
  }
  save_parameters(module, file.path);
  H5::H5File(file.path, H5F_ACC_RDWR)
      .createDataSet("bias", H5::PredType::IEEE_F32LE, H5::DataSpace());
  fails("parameters.h5: bias is unexpected, wanted only the 1 parameters of the module");
}

BOOST_AUTO_TEST_CASE(loading_is_all_or_nothing) {
  const File file;
  save_parameters(block<float>(1), file.path);
  H5::H5File(file.path, H5F_ACC_RDWR).unlink("ffn.w3.weight");  // the last that is read
  auto module = block<float>(2);
  BOOST_CHECK_EXCEPTION(load_parameters(module, file.path), std::runtime_error,
                        says("ffn.w3.weight is missing, wanted float32[12, 8]"));
  BOOST_TEST(all_values(module) == all_values(block<float>(2)));
}

BOOST_AUTO_TEST_CASE(saving_where_nothing_can_be_written) {
  const File file;
  BOOST_CHECK_EXCEPTION(
      save_parameters(Linear<float>(2, 3), (file.folder / "none" / "x.h5").string()),
      std::runtime_error, says("x.h5: cannot save parameters"));
}

BOOST_AUTO_TEST_CASE(a_failure_leaves_the_old_file) {
  const File file;
  const auto files = [&] {
    const std::filesystem::directory_iterator folder(file.folder), end;
    return std::distance(folder, end);
  };
  save_parameters(Linear<float>(2, 3, Seed(1)), file.path);
  BOOST_TEST(files() == 1);
  // A disk that is full: no file may grow beyond 8 KiB.
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8192, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  BOOST_CHECK_EXCEPTION(save_parameters(Linear<float>(200, 300), file.path), std::runtime_error,
                        says("parameters.h5: cannot save parameters"));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  BOOST_TEST(files() == 1);
  Linear<float> module(2, 3);
  load_parameters(module, file.path);
  BOOST_TEST(all_values(module) == all_values(Linear<float>(2, 3, Seed(1))));
  // The new file is whole, but cannot take the place of a folder.
  std::filesystem::create_directories(file.folder / "folder" / "full");
  BOOST_CHECK_EXCEPTION(save_parameters(module, (file.folder / "folder").string()),
                        std::runtime_error, says("folder: cannot save parameters"));
  BOOST_TEST(files() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
