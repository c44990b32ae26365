// Gathers what fails while cases run, and explains it at the end.
#pragma once

#include "explain/axes.hpp"
#include "explain/error_map.hpp"
#include "explain/explanation.hpp"
#include "fixture/verdict.hpp"

namespace prenorm::harness {

/// One failing case, told.
struct FailureText {
  std::string sizes, description, numbers;
  std::string hint;                  // on axes
  std::string snippet;               // lines of a program that shows the failure
  bool refusal = false;              // the case must be refused
  bool empty = false;                // its outputs have no elements
  std::size_t cause = Causes::none;  // of Explanation::diagnoses
  std::int64_t elements = 0;
  std::vector<ErrorMap> errors;  // of the simplest cases with wrong numbers
};

/// Of so many failing cases of a problem, errors are kept and shown as pictures; the others have
/// numbers.
inline constexpr std::size_t most_pictured = 8;

/// What wrong numbers come from.
struct Reasons {
  std::vector<Diagnosis> diagnoses;
  std::vector<Property> properties;  // of what no mistake explains
};

/// Solutions that are not here are nullptr. `told` gives the text of a case by its number, which
/// receives the cause and, of the first cases if `pictures` is set, the pictures; nullptr for a
/// case that is not told of, and whose properties are not looked at.
Reasons reasons_of(const Evidence& evidence, Solution* mistakes, Solution* truth, bool pictures,
                   const std::function<FailureText*(std::size_t number)>& told);

/// What one solution made of one fixture's cases, explained.
struct Explanation {
  std::string fixture, problem, solution;
  std::vector<Diagnosis> diagnoses;
  std::vector<Property> properties;
  bool undiagnosed = false;
  std::map<std::string, FailureText> failures;  // by the case's name

  std::vector<CauseText> causes() const {
    return causes_of(problem, diagnoses, properties, undiagnosed);
  }
};

/// For one fixture file and one solution. Not thread-safe.
class Collector {
 public:
  /// `solution` as results name it. `again` reads a case that has passed once more, by its name;
  /// where it is empty, such cases say nothing.
  Collector(const Fixture& fixture, std::string solution,
            std::function<LoadedCase(const std::string&)> again);

  /// A case that `ran` has answered. `outputs` may be none. Failing ones are kept, with their data
  /// up to a limit in memory; where the number of axes may be why, `ran` is called again.
  void add(const LoadedCase& loaded, const Result& result, std::vector<Tensor> outputs,
           Solution& ran);
  bool any_failed() const { return !told_.failures.empty(); }

  /// All of it; solutions that are not here are nullptr.
  Explanation explain(Solution* mistakes, Solution* truth, bool pictures);

 private:
  const Signature& signature_;
  std::function<LoadedCase(const std::string&)> again_;
  Explanation told_;
  std::vector<LoadedCase> wrong_;
  std::vector<std::pair<std::int64_t, std::string>> passed_;  // elements and names
  Evidence evidence_;
  std::size_t bytes_ = 0;
  int calls_ = calls_with_other_axes;  // that may still be made
};

}  // namespace prenorm::harness
