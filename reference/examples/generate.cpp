// Writes text with a TransformerLM, a byte per token. Its parameters come from an HDF5 file with
// the names of PyTorch's state dict; without a file they are random.
#include "../modules/parameters.hpp"
#include "../modules/transformer_lm.hpp"
#include "../softmax.hpp"

#include <iostream>

using namespace prenorm::reference;

int main(int argc, char** argv) try {
  std::vector<std::string> words{"", "\n", "100", "0", "1", "4", "256", "10000"};  // by default
  require(argc <= 9 && (argc < 2 || argv[1][0] != '-'), "no such arguments");
  std::copy(argv + 1, argv + argc, words.begin());
  const auto number = [&](std::size_t i) {
    double value = 0;
    require(bool(std::istringstream(words[i]) >> value) && value >= 0, "no number: ", words[i]);
    return value;
  };
  const std::string path = words[0];
  std::string text = words[1].empty() ? "\n" : words[1];
  const auto tokens = static_cast<std::size_t>(number(2));
  const double temperature = number(3), theta = number(7);
  std::mt19937_64 generator(static_cast<std::uint64_t>(number(4)));
  const auto heads = static_cast<std::int64_t>(number(5)),
             context = static_cast<std::int64_t>(number(6));

  if (path.empty()) std::cerr << "No weights are given: these are random, so expect noise.\n";
  auto shapes = path.empty() ? std::map<std::string, Shape>() : shapes_of_parameters(path);
  const auto size_of = [&](const std::string& name, std::size_t axis, std::int64_t without) {
    return shapes[name].size() > axis ? static_cast<std::int64_t>(shapes[name][axis]) : without;
  };
  std::int64_t layers = path.empty() ? 2 : 0;
  while (shapes.contains("layers." + std::to_string(layers) + ".ln1.weight")) ++layers;
  const std::int64_t d_model = size_of("lm_head.weight", 1, 64);
  const std::int64_t d_ff = size_of("layers.0.ffn.w1.weight", 0, 192);
  TransformerLM<float> model(256, context, d_model, layers, heads, d_ff, Seed(0), theta);
  if (!path.empty()) load_parameters(model, path);

  std::cout << text;
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::size_t seq = std::min(text.size(), static_cast<std::size_t>(context));
    auto ids = empty<std::int64_t>({seq});
    std::copy_n(text.end() - static_cast<std::ptrdiff_t>(seq), seq, ids.begin());
    const Tensor<float> logits = xt::view(model(ids & 255), seq - 1);
    auto next = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (temperature > 0) {
      const Tensor<float> p = softmax(Tensor<float>(logits / static_cast<float>(temperature)), 0);
      next = std::discrete_distribution<std::ptrdiff_t>(p.begin(), p.end())(generator);
    }
    std::cout << (text += static_cast<char>(next)).back() << std::flush;
  }
  std::cout << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << R"(
usage: generate [WEIGHTS.h5 [PROMPT [TOKENS=100 [TEMPERATURE=0 [SEED=1 [NUM_HEADS=4
                [CONTEXT_LENGTH=256 [THETA=10000]]]]]]]]; temperature 0 takes the likeliest byte
)";
  return 1;
}
