// What is wrong with an output where no known mistake explains it: a property that it lacks.
#pragma once

#include "explain/evidence.hpp"

namespace prenorm::harness {

class Solution;

/// "y does not sum to 1 along its last axis", of so many cases.
struct Property {
  std::string problem;
  std::string sentence;            // ends without a full stop
  std::int64_t holds = 0, of = 0;  // cases, of those that no mistake explains
};

/// The properties of the wrong cases that `unexplained` numbers (places in Evidence::wrong): those
/// that most of them share first, at most three. `truth` computes the problem: it is asked what it
/// gives for other scalars.
std::vector<Property> properties(const Evidence& evidence,
                                 const std::vector<std::size_t>& unexplained, Solution& truth);

}  // namespace prenorm::harness
