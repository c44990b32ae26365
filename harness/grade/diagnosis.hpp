// Which known mistake a submission's wrong numbers look like.
#pragma once

#include "replay/replay.hpp"

#include <functional>

namespace prenorm::harness {

/// A known mistake whose outputs are those of the submission.
struct Diagnosis {
  std::string problem;
  std::string mistake;              // "halves_instead_of_neighbours"
  std::int64_t agrees = 0, of = 0;  // cases with wrong numbers in which the outputs agree
};

/// What a submission made of one problem's cases.
struct Evidence {
  struct Wrong {
    std::size_t number;  // of the case
    std::vector<Tensor> outputs;
  };
  std::string problem;
  const Signature* signature = nullptr;
  std::vector<Wrong> wrong;         // all cases whose numbers were wrong
  std::vector<std::size_t> passed;  // numbers of cases that passed
  std::function<LoadedCase(std::size_t number)> load;
};

/// The mistakes (variants of `mistakes`) that explain every case with wrong numbers: the outputs
/// agree within the case's tolerance, with NaN and infinities in the same places, and are nearer to
/// the mistake's than to the truth, which the mistake misses itself; and no case has passed that
/// the mistake clearly fails. Several where they give the same numbers.
///
/// Where none does, those that explain most cases best: more than half, `agrees` < `of`.
std::vector<Diagnosis> diagnose(const Evidence& evidence, Solution& mistakes);

}  // namespace prenorm::harness
