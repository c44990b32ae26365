#include "base/printable.hpp"
#include "explain/failures_report.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness {
namespace {

Table points_table(const Grading& grading) {
  Table table{{"item", "points", "cases passed"}, {}};
  for (const PointsRow& row : points_rows(grading)) {
    const std::string indent = row.is_group ? "  " : "";
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const auto* text : {&row.name, &row.points, &row.passed}) {
      cells.push_back({indent + *text, row.tone});
    }
  }
  return table;
}

std::string problem_lines(const FailedProblem& of, bool colour, std::size_t width, bool verbose) {
  const auto& [problem, failed] = of;
  std::string text =
      toned(printable(problem), Tone::strong, colour) + ": " + failed.counts() + "\n";
  text += cause_text(failed.lines(), width);
  if (failed.all_alike()) {
    const Result& result = *failed.cases.front().result;
    text += "  " + toned(name(result.status), Tone::bad, colour) +
            "  in all: " + printable(result.message) + "\n";
    if (failed.none_ran()) return text;
  }
  const std::vector<FailingCase> cases = failed.simplest_first();
  const std::size_t shown = verbose              ? cases.size()
                            : failed.all_alike() ? 1
                                                 : failed.shown_at_first();
  bool has_snippet = false;
  for (std::size_t i = 0; i < shown; ++i) {
    FailureText about = *cases[i].text;
    if (has_snippet && !verbose) about.snippet.clear();  // the simplest case's will do
    has_snippet = has_snippet || !about.snippet.empty();
    text += failing_case_text(*cases[i].result, about, colour, width, verbose);
  }
  if (cases.size() > shown) text += fmt::format("  and {} more: --verbose\n", cases.size() - shown);
  return text;
}

}  // namespace

std::string grade_table(const Grading& grading, bool colour, std::size_t width, bool verbose) {
  std::string text = toned(printable(grading.submission), Tone::strong, colour) + " (" +
                     printable(grading.kind_text()) + ") by " + printable(grading.rubric) + ": " +
                     printable(grading.title) + "\n";
  for (const std::string& note : grading.notes) text += printable(note) + "\n";
  text += "\n";
  if (grading.status != Status::passed) {
    text += toned(name(grading.status), Tone::bad, colour) + "  ";
    std::istringstream lines(grading.message);
    for (std::string line; std::getline(lines, line);) text += printable(line) + "\n    ";
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  text += render(points_table(grading), colour, width) + "\n";
  for (const FailedProblem& each : failed_problems(grading)) {
    text += problem_lines(each, colour, width, verbose) + "\n";
  }
  text += profiles_text(grading.profiles, colour);
  return text + toned(score_text(grading), tone_of(grading.earned(), grading.points()), colour) +
         "; " + counts_text(grading) + "\n";
}

}  // namespace prenorm::harness
