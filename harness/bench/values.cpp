#include "bench/values.hpp"

#include "draw.hpp"

#include <algorithm>
#include <cstring>

namespace prenorm::harness::bench {
namespace {

constexpr std::int64_t pool_elements = (1 << 20) + 7;  // no power of two: stretches do not align
constexpr std::int64_t stretch = 4096;                 // elements copied from one place

Tensor arange(const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  if (type.shape.empty()) throw SignatureError("arange: the tensor has no axis");
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, static_cast<double>(i % type.shape.back()));
  }
  return tensor;
}

Tensor lower_triangle(const TensorType& type) {
  Tensor tensor(type.dtype, type.shape);
  if (type.shape.size() < 2) throw SignatureError("lower_triangle: wanted two axes");
  const std::int64_t columns = type.shape.back(), rows = type.shape[type.shape.size() - 2];
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, i % columns <= i / columns % rows ? 1 : 0);
  }
  return tensor;
}

bool is_name(const std::string& bound) {
  return !bound.empty() && bound.find_first_of("0123456789+-.") != 0;
}

}  // namespace

void check_draw(const std::string& text) {
  if (text != "arange" && text != "lower_triangle") parse_draw(text);
}

Values::Values(std::uint64_t seed) : random_(generator(seed, "bench")) {}

std::vector<std::optional<Tensor>> Values::fresh(const Workload& workload) {
  std::vector<std::optional<Tensor>> inputs;
  for (const auto& input : workload.info.inputs) {
    auto& tensor = inputs.emplace_back();
    if (input) tensor = fresh(*input, workload);
  }
  return inputs;
}

Tensor Values::fresh(const InputInfo& input, const Workload& workload) {
  if (input.draw == "arange") return arange(input.type);
  if (input.draw == "lower_triangle") return lower_triangle(input.type);
  const Draw how = parse_draw(input.draw);
  if (how.kind == Draw::Kind::permutation) {
    return draw(how, input.type, workload.info, workload.signature, random_);
  }
  const Tensor& from = pool(input, workload);
  Tensor tensor(input.type.dtype, input.type.shape);
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
  for (std::int64_t begin = 0; begin < tensor.size(); begin += stretch) {
    const std::int64_t count = std::min(stretch, tensor.size() - begin);
    const auto place =
        static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(pool_elements - count));
    std::memcpy(tensor.data.data() + begin * size, from.data.data() + place * size,
                static_cast<std::size_t>(count * size));
  }
  return tensor;
}

const Tensor& Values::pool(const InputInfo& input, const Workload& workload) {
  const Draw how = parse_draw(input.draw);
  std::string key = std::string(name(input.type.dtype)) + " " + input.draw;
  // A bound may be the name of a dimension, which is another number in another workload.
  if (is_name(how.first) || is_name(how.second)) key += " " + workload.entry.name;
  const auto [at, is_new] = pools_.try_emplace(key);
  if (is_new) {
    at->second =
        draw(how, {input.type.dtype, {pool_elements}}, workload.info, workload.signature, random_);
  }
  return at->second;
}

}  // namespace prenorm::harness::bench
