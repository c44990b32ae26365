// Which cases catch which variants: known mistakes, or valid variants that must pass.
#pragma once

#include "replay/runner.hpp"

#include <map>
#include <string>
#include <vector>

namespace prenorm::harness {

/// One variant of one problem, over the cases that have expected outputs.
struct Variant {
  struct Cases {
    std::vector<std::string> tried;
    std::vector<std::string> caught;  // those in which it failed
  };
  std::string problem;
  std::string name;                     // "no_eps"
  std::map<std::string, Cases> dtypes;  // only those that it is written for
  std::vector<Result> results;

  std::vector<std::string> caught() const;  // the names of all cases in which it failed
  std::size_t tried() const;
};

/// Replays the file's cases through every variant that the collection has for its problem. Cases
/// that must be refused are skipped: a variant checks no arguments. `unusable` receives results
/// of damaged cases.
std::vector<Variant> catches(const File& file, const std::string& collection, SolutionPool& pool,
                             std::vector<Result>& unusable);

}  // namespace prenorm::harness
