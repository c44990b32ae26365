// A failing case that is called by itself, twice: whether it is the formula, or state, or chance.
#include "grade/marks.hpp"
#include "replay/replay.hpp"

#include <array>

namespace prenorm::harness {
namespace {

/// Whether two answers are further apart than one may be from the truth.
bool differ(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const Case& info) {
  if (a.size() != b.size()) return true;
  for (std::size_t output = 0; output < a.size(); ++output) {
    const Tensor &x = a[output], &y = b[output];
    const Tolerance tolerance = info.outputs[output].tolerance.value_or(Tolerance{});
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (!compare_element(x.dtype, x.at(i), y.at(i), tolerance).passes) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<ToldAlone> called_alone(const std::string& problem, const Signature& signature,
                                      const LoadedCase& loaded, Solution& solution,
                                      bool inputs_may_change) {
  const ReplayOptions options{
      .twice = false, .alone = false, .inputs_may_change = inputs_may_change};
  std::array<std::vector<Tensor>, 2> outputs;
  std::array<bool, 2> passed;
  for (std::size_t call = 0; call < 2; ++call) {
    const Result result = replay(problem, signature, loaded, solution, options, &outputs[call]);
    passed[call] = result.status == Status::passed;
  }
  if (passed[0]) {
    return ToldAlone{true, std::string("passes alone in a fresh process") +
                               (passed[1] ? "" : ", and fails when it is called again") +
                               ": something is kept from call to call, or random"};
  }
  if (!passed[1] && !differ(outputs[0], outputs[1], loaded.info)) return std::nullopt;
  return ToldAlone{false,
                   "gives other numbers in a second call with the same inputs: something is kept "
                   "from call to call, or random (dropout? weights that are never loaded?)"};
}

}  // namespace prenorm::harness
