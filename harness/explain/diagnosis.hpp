// What a solution made of one problem's cases, and what wrong numbers come from: known mistakes, or
// properties that the outputs lack.
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
    std::int64_t work = 0;        // of the case
    FailureText* text = nullptr;  // of a case that reports show
  };
  std::string problem;
  const Signature* signature = nullptr;
  std::vector<Wrong> wrong;         // all cases whose numbers were wrong, the simplest first
  std::vector<std::size_t> passed;  // numbers of cases that passed
  std::function<LoadedCase(std::size_t number)> load;
  std::function<const Case*(std::size_t number)> shown;  // nullptr: a case that reports do not show
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

/// The error of the worst element over what rounding explains, where that is more than 1 and at
/// most 4: too little to tell a mistake by its size. A course's bound is not looked at.
std::optional<double> beyond_rounding(const std::vector<Tensor>& outputs, const LoadedCase& loaded);

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
/// Outputs that are hardly beyond rounding must be four times nearer to the mistake's. What honest
/// code may do besides is allowed: NaN where all keys are hidden, angles in float32 (by the words'
/// `honest`). A mistake that clearly fails a case which has passed, of a type in which it would
/// explain others, is none.
///
/// The work is limited: where many large cases are wrong, the small ones decide.
Causes diagnose(const Evidence& evidence, Solution& mistakes);

/// "y does not sum to 1 along its last axis", of so many cases.
struct Property {
  std::string problem;
  std::string sentence;            // ends without a full stop
  std::int64_t holds = 0, of = 0;  // cases, of those that no mistake explains
};

/// What most of the `unexplained` wrong cases (places in Evidence::wrong) have in common, at most
/// three sentences. `truth` computes the problem: it is asked what it gives for other scalars.
std::vector<Property> properties(const Evidence& evidence,
                                 const std::vector<std::size_t>& unexplained, Solution& truth);

/// "passes only where d_model is at most 128", "fails only where seq is a multiple of 16": what
/// holds for all of the one and for none of the other, if there are at least three of each.
std::optional<std::string> rule_in_sizes(const std::vector<const Case*>& passing,
                                         const std::vector<const Case*>& failing,
                                         const Signature& signature);

}  // namespace prenorm::harness
