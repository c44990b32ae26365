// What a solution made of one problem's cases: what every explanation is drawn from.
#pragma once

#include "fixture/fixture.hpp"

#include <functional>

namespace prenorm::harness {

class Solution;

struct Evidence {
  struct Wrong {
    std::size_t number;           // of the case
    std::vector<Tensor> outputs;  // in signature order; none where some element was never written
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

}  // namespace prenorm::harness
