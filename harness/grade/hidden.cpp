#include "grade/hidden.hpp"

#include "replay/replay.hpp"

#include <algorithm>
#include <numeric>

namespace prenorm::harness {
namespace {

constexpr std::int64_t most_elements = 300000;
/// Draws of one case. Of sixteen equal draws one sets the tolerance.
constexpr std::uint64_t attempts = 8;

/// Whether right answers lie well within the tolerance on these very inputs. It comes from this
/// draw and fifteen others: where this one's error is the largest, or the reference's own in the
/// case's type is larger still, the inputs are worse than what the tolerance was made for (a norm
/// of what nearly cancels), and another right order of summation may miss it. A tolerance for a
/// single rounding is skipped: its slack of 0.25 eps covers other orders of summation.
bool is_fair(const std::string& problem, const Signature& signature, const LoadedCase& fresh,
             const Yardsticks& by) {
  for (Solution* solution : {&by.textbook, &by.truth}) {
    std::vector<Tensor> outputs;
    replay(problem, signature, fresh, *solution, {.twice = false, .alone = false}, &outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputInfo& output = fresh.info.outputs[i];
      const Tolerance tolerance = output.tolerance.value_or(Tolerance{});
      if (allows_one_rounding(tolerance, output.dtype)) continue;
      const double atol = tolerance.atol;
      if (atol > 0 && 2 * largest_error(outputs[i], fresh.expected[i]) >= atol) return false;
    }
  }
  return true;
}

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

std::optional<LoadedCase> hidden_case(const std::string& problem, const Signature& signature,
                                      const LoadedCase& stored, const Yardsticks& by,
                                      std::uint64_t seed) {
  auto random = generator(seed, problem + "/" + stored.info.name + "/hidden");
  const bool odd_sizes = random() % 2 == 0;
  std::optional<LoadedCase> drawn;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    try {
      drawn = fresh_case(problem, signature, stored, by, {.seed = random(), .resize = odd_sizes});
      if (is_fair(problem, signature, *drawn, by)) return drawn;
    } catch (const std::runtime_error&) {  // the truth has no answer to these inputs
    }
  }
  return drawn;  // all draws alike: each is as hard as the others
}

}  // namespace prenorm::harness
