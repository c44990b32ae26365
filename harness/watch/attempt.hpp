// What one grading said, as a watcher keeps it.
#pragma once

#include "fixture/verdict.hpp"
#include "report/report.hpp"

#include <map>
#include <string>
#include <vector>

namespace prenorm::harness {

/// One visible case of a report.
struct WatchedCase {
  std::string problem, name, shapes, message;
  Status status = Status::passed;
  std::int64_t elements = 0;  // of its outputs that were compared

  bool passed() const { return status == Status::passed; }
  bool written() const { return status != Status::not_implemented; }
};

/// What explains a problem's failures.
struct WatchedCause {
  std::string heading;               // "looks like no eps"
  std::string does;                  // what such code does; empty where no mistake explains it
  std::string hint;                  // a question
  std::vector<std::string> lacking;  // properties that the outputs lack
};

/// A report of `prenorm grade --json`.
struct Attempt {
  std::string submission, kind, rubric;
  Status status = Status::passed;  // of the whole: a build that failed
  std::string message;
  std::vector<WatchedCase> cases;
  /// By problem. An empty one was looked for in vain.
  std::map<std::string, WatchedCause> causes;
};

/// Throws Json::exception for a text that is no such report.
Attempt attempt_of(const Json& report);

}  // namespace prenorm::harness
