// Whether outputs are those of a known mistake.
#pragma once

#include "fixture/fixture.hpp"

#include <optional>

namespace prenorm::harness {

/// What a solution may be off by besides its mistake, as honest code is: 4 times what a deviation
/// that honest code may have makes of the case.
class Leeway {
 public:
  /// `deviating` is what the deviation makes of the case; nothing where it is not written for it.
  void add(const std::vector<Tensor>& deviating, const std::vector<Tensor>& truth);
  /// Of that output's elements.
  double of(std::size_t output) const { return output < most_.size() ? most_[output] : 0; }

 private:
  std::vector<double> most_;
};

/// How far the outputs are from the mistake's, in units of what is allowed; nothing where they are
/// not the mistake's, or as near to the truth. A row of NaN agrees with a row of zeros: what a
/// query that attends to nothing gives is zeros in the mistake, and often NaN in code.
std::optional<double> agreement(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& mistaken, const LoadedCase& loaded,
                                const Leeway& leeway);

/// Whether the outputs are within the case's tolerance and the leeway of the truth.
bool is_within(const std::vector<Tensor>& outputs, const LoadedCase& loaded, const Leeway& leeway);

/// Whether the mistake's outputs miss a case by far.
bool fails_clearly(const std::vector<Tensor>& mistaken, const LoadedCase& loaded);

}  // namespace prenorm::harness
