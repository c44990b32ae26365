// Grading many submissions into a gradebook.
#pragma once

#include "class/execute.hpp"

#include <chrono>
#include <map>

namespace prenorm::harness {

struct ClassOptions {
  std::string gradebook;
  std::string work;    // folder for what is not in the gradebook yet; empty: beside it
  std::string roster;  // CSV
  bool regrade = false;
  /// The grading options that were given, like "--python". The others keep the values of the
  /// gradebook's last grading.
  std::vector<std::string> typed;
  ExecuteOptions execute;
};

/// The progress of a run.
struct ClassState {
  std::size_t submissions = 0, todo = 0;
  std::size_t graded = 0, with_failures = 0;
  std::map<std::string, std::string> failures;  // by name: why it is not graded
  std::size_t at_begin = 0;                     // finished before this run's processes began
  std::chrono::steady_clock::time_point begun;

  std::size_t finished() const { return graded + failures.size(); }
};

/// Messages to the person who waits; never called by two threads at a time.
struct ClassEvents {
  std::function<void(const ClassState&)> progress;                       // now and then
  std::function<void(const ClassState&, const std::string& line)> done;  // a submission is finished
  std::function<void(const std::string& line)> say;
};

struct ClassResult {
  ClassState state;
  bool passed = false, failed = false, skipped = false;  // whether a case of these submissions was
  std::vector<std::string> not_whole = {};               // names of these that are not graded whole
  double larger_budget = 0;                              // with which they may be
};

/// Grades what the gradebook does not hold, or holds an earlier version of. Throws UsageError.
ClassResult grade_class(const std::vector<std::string>& submissions, GradeSettings settings,
                        const ClassOptions& options, ClassEvents events);

/// What the submissions of a class lack, by submission.
using ClassImports = std::map<std::string, PythonImports>;

/// Messages for the person who grades, one per line: packages with how many submissions import
/// them, the command that installs them for that interpreter, and of which submissions nothing can
/// be loaded. No lines where nothing is missing.
std::vector<std::string> missing_packages(const ClassImports& imports, const fs::path& python);

}  // namespace prenorm::harness
