// What a solution made of one problem's cases, and whether it is what a known mistake makes of
// them.
#pragma once

#include "fixture/fixture.hpp"

#include <functional>
#include <optional>

namespace prenorm::harness {

class Solution;
struct FailureText;

struct Evidence {
  struct Wrong {
    std::size_t number;           // of the case
    std::vector<Tensor> outputs;  // in signature order; none where some element was never written
    std::int64_t elements = 0;    // of the case
    FailureText* text = nullptr;  // of a case that reports show
  };
  std::string problem;
  const Signature* signature = nullptr;
  std::vector<Wrong> wrong;         // all cases whose numbers were wrong, the simplest first
  std::vector<std::size_t> passed;  // numbers of cases that passed
  std::function<LoadedCase(std::size_t number)> load;
};

/// One such case with its data.
struct Exhibit {
  LoadedCase loaded;
  const std::vector<Tensor>* outputs = nullptr;  // of the solution
};

/// What a function of a solution, "rope__halves" say, makes of the case; nothing where it fails, or
/// is not written for the case's type.
std::vector<Tensor> outputs_of(const std::string& function, const Signature& signature,
                               const LoadedCase& loaded, Solution& solution);

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
