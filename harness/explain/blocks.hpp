// What failed, by problem and solution.
#pragma once

#include "explain/collector.hpp"
#include "explain/failing_cases.hpp"
#include "report/report.hpp"

namespace prenorm::harness {

/// The failures of one problem's file by one solution, in the order of the results.
struct Block {
  std::string fixture, problem, solution;
  std::vector<const Result*> failed = {};
  std::int64_t asked = 0;
  std::map<std::string, Failed> by_dtype = {};
  const Explanation* why = nullptr;

  /// What is known of that case; nullptr where nothing is.
  const FailureText* told(const Result& result) const;
  /// The cases, with what is shared by those that need telling once.
  std::vector<FailingCase> cases() const;
  /// Failing cases that must be refused.
  std::int64_t refusals() const;
  /// Those with wrong numbers.
  std::int64_t wrong() const;
  /// Cases and statuses: what another solution that fails in the same way has too.
  std::string likeness() const;
  /// Nothing is known of any case, and all have one message: of a library that cannot be loaded.
  bool all_alike() const;
};

/// Those in which something failed, in the order of the results. They point into both arguments.
std::vector<Block> blocks_of(const Report& report, const std::vector<Explanation>& explanations);

}  // namespace prenorm::harness
