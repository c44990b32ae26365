#include "bench/values.hpp"

#include "fixture/draw.hpp"

#include <algorithm>
#include <charconv>
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

/// A mask [..., queries, keys] in which a query attends to a range of keys: range(query, queries,
/// keys) is its begin and its end.
template <class Range>
Tensor mask_of(const TensorType& type, const std::string& draw, Range range) {
  if (type.dtype != DType::boolean || type.shape.size() < 2) {
    throw SignatureError(draw + ": wanted bool and at least two axes");
  }
  Tensor tensor(type.dtype, type.shape);
  const std::int64_t keys = type.shape.back(), queries = type.shape[type.shape.size() - 2];
  const std::int64_t rows = keys == 0 ? 0 : tensor.size() / keys;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto [begin, end] = range(row % queries, queries, keys);
    std::memset(tensor.data.data() + row * keys + begin, 1, static_cast<std::size_t>(end - begin));
  }
  return tensor;
}

using Bounds = std::pair<std::int64_t, std::int64_t>;

Tensor lower_triangle(const TensorType& type) {
  return mask_of(type, "lower_triangle", [](std::int64_t query, std::int64_t, std::int64_t keys) {
    return Bounds(0, std::min(query + 1, keys));
  });
}

/// The number of documents of "block_diagonal(count)"; nothing for another draw.
std::optional<std::int64_t> documents_of(const std::string& draw) {
  constexpr std::string_view word = "block_diagonal";
  if (!draw.starts_with(word)) return std::nullopt;
  std::int64_t count = 0;
  const char* const last = draw.data() + draw.size();
  const char* const first = std::min(draw.data() + word.size() + 1, last);
  const auto [end, error] = std::from_chars(first, last, count);
  if (draw[word.size()] != '(' || error != std::errc() || count < 1 ||
      std::string_view(end, last) != ")") {
    throw SignatureError("draw '" + draw + "': wanted block_diagonal(count), a number from 1 on");
  }
  return count;
}

Tensor block_diagonal(const TensorType& type, std::int64_t documents) {
  const auto range = [documents](std::int64_t query, std::int64_t queries, std::int64_t keys) {
    if (std::min(queries, keys) < documents) {
      throw SignatureError("block_diagonal: more documents than positions");
    }
    const std::int64_t document = std::min(query / (queries / documents), documents - 1);
    const std::int64_t length = keys / documents;
    return Bounds(document * length, document + 1 < documents ? (document + 1) * length : keys);
  };
  return mask_of(type, "block_diagonal", range);
}

bool is_name(const std::string& bound) {
  return !bound.empty() && bound.find_first_of("0123456789+-.") != 0;
}

}  // namespace

void check_draw(const std::string& text, const Workload& workload) {
  if (text == "arange" || text == "lower_triangle" || documents_of(text)) return;
  check_bounds(parse_draw(text), workload.info, workload.signature);
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
  if (const auto documents = documents_of(input.draw)) {
    return block_diagonal(input.type, *documents);
  }
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
