#include "grade/hidden.hpp"

#include <algorithm>
#include <numeric>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_elements = 300000;
constexpr std::uint64_t attempts = 3;

}  // namespace

bool can_be_hidden(const Case& info) {
  return !info.error && info.elements() <= most_elements &&
         std::ranges::any_of(info.inputs,
                             [](const auto& input) { return input && !input->draw.empty(); });
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, const std::string& words) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto random = generator(seed, words + "/order");
  // std::shuffle gives another order on another library.
  for (std::size_t last = count; last > 1; --last)
    std::swap(order[last - 1], order[random() % last]);
  return order;
}

std::optional<NewCase> hidden_case(const std::string& problem, const Signature& signature,
                                   const LoadedCase& stored, const Yardsticks& by,
                                   std::uint64_t seed) {
  auto random = generator(seed, problem + "/" + stored.info->name + "/hidden");
  const bool odd_sizes = random() % 2 == 0;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    try {
      return fresh_case(problem, signature, stored, by, {.seed = random(), .resize = odd_sizes});
    } catch (const std::runtime_error&) {
      if (attempt + 1 == attempts) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace prenorm::harness
