// Gathers what fails while cases run, and explains it at the end.
#pragma once

#include "explain/failures.hpp"
#include "explain/laws.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"

namespace prenorm::harness {

/// Adds a case to the evidence: one that passed, or one whose numbers were compared and were wrong.
/// `outputs` may be none. `elements` says how simple the case is. `text`, of a case that reports
/// show, receives the numbers; nullptr for others.
void add_case(Evidence& evidence, std::size_t number, const LoadedCase& loaded,
              const Result& result, std::vector<Tensor> outputs, std::int64_t elements,
              FailureText* text);

/// What the wrong numbers of one problem come from.
struct Reasons {
  std::vector<Diagnosis> diagnoses;
  std::vector<Clue> clues;           // to what no mistake explains
  std::vector<Property> properties;  // of what no mistake explains
  bool undiagnosed = false;          // numbers were compared and wrong, and no mistake explains any
  std::optional<DType> unexplained;  // the type in which laws are asked about what is not explained
};

/// Solutions that are not here are nullptr. The texts of the evidence receive the cause and, of the
/// first cases if `pictures` is set, the pictures. The properties of cases without a text are not
/// looked at.
Reasons reasons_of(Evidence& evidence, Solution* mistakes, Solution* truth, bool pictures);

/// Calls with other axes that are worth their time: of one problem, for all of its cases.
inline constexpr int calls_with_other_axes = 6;

/// The hint for a case that failed with an exception, a wrong shape or wrong numbers: whether it
/// passes with one batch axis, or two, in every batched input, those that it has joined into one
/// where they are more. Empty where it does not, or where the signature has no batch axes. Each
/// call that it makes is taken from `calls`; where none is left, it makes none.
std::string axes_hint(const std::string& problem, const Signature& signature,
                      const LoadedCase& loaded, const Result& result, Solution& solution,
                      int& calls);

/// What one solution made of one fixture's cases, explained.
struct Explanation {
  std::string fixture, problem, solution;
  Reasons reasons;
  std::map<std::string, FailureText> failures;  // by the case's name
};

/// For one fixture file and one solution. Not thread-safe.
class Collector {
 public:
  /// `solution` as results name it. `again` reads a case that has passed once more, by its name;
  /// where it is empty, such cases are not used.
  Collector(const Fixture& fixture, std::string solution,
            std::function<LoadedCase(const std::string&)> again);

  /// A case that `ran` has answered. `outputs` may be none. Failing ones are kept, with their data
  /// up to a limit in memory; where the number of axes may be why, `ran` is called again.
  void add(const LoadedCase& loaded, const Result& result, std::vector<Tensor> outputs,
           Solution& ran);
  bool any_failed() const { return !explanation_.failures.empty(); }
  /// What a pool finds the solution by; empty where it takes a device, which other calls have.
  const std::string& asked() const { return asked_; }

  /// All of it; `asked` is the solution itself. Solutions that are not here are nullptr.
  Explanation explain(Solution* mistakes, Solution* truth, Solution* asked, bool pictures);

 private:
  const Signature& signature_;
  std::function<LoadedCase(const std::string&)> again_;
  Explanation explanation_;
  std::string asked_;
  std::vector<LoadedCase> wrong_;
  std::vector<Case> passed_;
  Evidence evidence_;
  std::size_t bytes_ = 0;
  int calls_ = calls_with_other_axes;  // that may still be made
};

/// The collectors of what solutions make of several files.
class Collectors {
 public:
  /// `files` must outlive this. `fresh`: their cases were drawn, and are not drawn again.
  Collectors(const std::vector<SelectedFixture>& files, bool fresh);

  /// Threads may call this for different files.
  void add(std::size_t file, const LoadedCase& loaded, const Result& result,
           std::vector<Tensor> outputs, Solution& ran);
  /// Why what failed has failed; a thread for each of the pools.
  std::vector<Explanation> explain(std::vector<SolutionPool>& pools, bool pictures);

 private:
  const std::vector<SelectedFixture>& files_;
  bool fresh_;
  std::vector<std::map<std::string, Collector>> of_files_;  // by solution
};

/// The failures of one problem's file by one solution.
struct FileFailures : Failures {
  std::string fixture, problem, solution;

  /// Cases, statuses and causes: what another solution that fails in the same way has too.
  std::string likeness() const;
};

/// Those in which something failed, in the order of the results. They point into both arguments.
std::vector<FileFailures> failures_of(const Report& report,
                                      const std::vector<Explanation>& explanations);

}  // namespace prenorm::harness
