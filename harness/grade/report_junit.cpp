#include "grade/grading.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <map>

namespace prenorm::harness {

std::string grade_junit(const Grading& grading) {
  std::vector<JunitSuite> suites;
  for (const GradedItem& item : grading.items) {
    JunitSuite& suite = suites.emplace_back(item.name, std::vector<JunitCase>{});
    std::map<std::string, std::size_t> hidden;  // by problem
    for (const GradedCase& graded : item.cases) {
      const Result& result = graded.result;
      JunitCase& test = suite.cases.emplace_back();
      test.status = result.status;
      if (graded.hidden) {  // nothing else of it: a time, too, would tell of its shapes
        test.group = result.problem;
        test.name = "hidden_" + std::to_string(++hidden[result.problem]);
        continue;
      }
      test.group = result.problem;
      test.name = result.case_name.value_or(result.fixture);
      test.message = result.message;
      if (!result.repeat.empty()) test.details = "repeat: " + result.repeat;
      test.seconds = result.seconds;
    }
  }
  // What cannot be run at all has no cases to say so.
  const bool told = std::ranges::any_of(suites, [](const auto& s) { return !s.cases.empty(); });
  if (grading.status != Status::passed && !told) {
    suites.push_back({"submission",
                      {{.group = "submission",
                        .name = grading.submission,
                        .status = grading.status,
                        .message = grading.message,
                        .details = {},
                        .seconds = {}}}});
  }
  return junit_document("prenorm grade " + grading.submission, suites, true);
}

}  // namespace prenorm::harness
