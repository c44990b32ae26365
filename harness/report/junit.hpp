// JUnit's XML, as Jenkins and others read it (tests/harness/grade/junit.xsd): suites of test cases.
#pragma once

#include "fixture/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

struct JunitCase {
  std::string group;  // "classname": the problem
  std::string name;
  Status status = Status::skipped;
  std::string message;
  std::string details;            // a line below the message: the command that repeats it
  std::optional<double> seconds;  // nothing: not told
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
};

/// The document. BAD_FIXTURE is an error, SKIPPED is skipped, and so is NOT_IMPLEMENTED unless that
/// counts as a failure; everything else that did not pass is a failure, with its status as the
/// type.
std::string junit_document(const std::string& name, const std::vector<JunitSuite>& suites,
                           bool not_implemented_fails);

}  // namespace prenorm::harness
