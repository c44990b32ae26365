#include "grade/accepted.hpp"

#include "base/text.hpp"
#include "replay/calibrate.hpp"
#include "replay/replay.hpp"
#include "replay/runner.hpp"

#include <algorithm>
#include <stdexcept>

namespace prenorm::harness {
namespace {

/// Other forms of the same mistake round otherwise than ours.
constexpr double room = 4;
/// Of the truth's root mean square.
constexpr double most = 0.5;

}  // namespace

std::vector<double> accepted_deviations(const std::vector<std::string>& names,
                                        const std::string& problem, const Signature& signature,
                                        const LoadedCase& loaded, Solution& mistakes) {
  if (names.empty() || loaded.info.error) return {};
  std::vector<double> deviation(loaded.expected.size(), 0);
  for (const std::string& mistake : variants_of(problem, mistakes)) {
    if (!selects(names, mistake)) continue;
    std::vector<Tensor> outputs;
    replay(problem + "__" + mistake, signature, loaded, mistakes, {.twice = false, .alone = false},
           &outputs);
    if (outputs.size() != deviation.size()) continue;  // it is not written for this type
    try {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        deviation[i] = std::max(deviation[i], room * largest_error(outputs[i], loaded.expected[i]));
      }
    } catch (const std::runtime_error&) {  // NaN or infinite elsewhere than the truth
    }
  }
  for (std::size_t i = 0; i < deviation.size(); ++i) {
    const DType dtype = loaded.info.outputs[i].dtype;
    deviation[i] = std::min(deviation[i], most * root_mean_square(loaded.expected[i], dtype));
  }
  return deviation;
}

}  // namespace prenorm::harness
