// What wrong numbers come from: known mistakes, or properties that the outputs lack.
#pragma once

#include "explain/evidence.hpp"

namespace prenorm::harness {

/// A known mistake, or two at once, whose outputs are those of the solution.
struct Diagnosis {
  std::string problem;
  std::string mistake;              // "halves"; of two "halves+theta_fixed"
  std::int64_t agrees = 0, of = 0;  // cases that it explains, of all that have wrong numbers
  std::vector<std::string> also;    // other mistakes that give the same numbers there
};

/// What explains a problem's wrong numbers.
struct Causes {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::vector<Diagnosis> diagnoses;   // the one that explains most first; at most three
  std::vector<std::size_t> cause_of;  // of each of Evidence::wrong: its diagnosis, or none
};

/// Holds every known mistake (the variants of `mistakes`), and where one explains part of the
/// cases, or none any, pairs of them, against the cases with wrong numbers.
///
/// A mistake explains a case where the outputs are its own, up to the case's tolerance at the size
/// of the mistake's numbers, and nearer to them than to the truth, which the mistake misses itself.
/// What honest code may do besides is allowed: NaN where all keys are hidden, angles in float32 (by
/// the words' `honest`). A mistake that clearly fails a case which has passed, of a type in which
/// it would explain others, is none.
///
/// The work is limited: where many large cases are wrong, the small ones decide.
Causes diagnose(const Evidence& evidence, Solution& mistakes);

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
