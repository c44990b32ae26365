// Grading many submissions into a gradebook.
#pragma once

#include "class/execute.hpp"
#include "grade/grader.hpp"

#include <chrono>
#include <map>

namespace prenorm::harness {

struct ClassOptions {
  std::string gradebook;
  std::string work;    // folder for what is not in the gradebook yet; empty: beside it
  std::string roster;  // CSV
  bool regrade = false;
  /// The options of grading that were typed, like "--python". The others are as the gradebook's
  /// last grading had them.
  std::vector<std::string> typed;
  ExecuteOptions execute;
};

/// How far a run is.
struct ClassState {
  std::size_t submissions = 0, todo = 0;
  std::size_t graded = 0, with_failures = 0;
  std::map<std::string, std::string> failures;  // by name: why it is not graded
  std::size_t at_begin = 0;                     // finished when this run's processes began
  std::chrono::steady_clock::time_point begun;

  std::size_t finished() const { return graded + failures.size(); }
};

/// What the person who waits hears; never called by two threads at a time.
struct ClassEvents {
  std::function<void(const ClassState&)> progress;                       // now and then
  std::function<void(const ClassState&, const std::string& line)> done;  // a submission is finished
  std::function<void(const std::string& line)> say;
};

struct ClassResult {
  ClassState state;
  bool passed = false, failed = false, skipped = false;  // whether a case of these submissions was
};

/// Grades what the gradebook does not hold, or holds an earlier version of. Throws UsageError.
ClassResult grade_class(const std::vector<std::string>& submissions, GradeSettings settings,
                        const ClassOptions& options, ClassEvents events);

}  // namespace prenorm::harness
