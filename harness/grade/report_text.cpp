// The reports of a grading to read: on a terminal; in GitHub's Markdown, the summary of a job; and
// failing problems as annotations, lines of a job's log that GitHub's runner reads.
#include "base/text.hpp"
#include "explain/failures_report.hpp"
#include "grade/report_parts.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

// ---- Markdown

std::string points_in_markdown(const Grading& grading) {
  std::string text = "| Item | Points | Cases passed |\n|:--|--:|--:|\n";
  for (const PointsRow& row : points_rows(grading)) {
    text += fmt::format("| {}{} | {} | {} |\n", row.is_group ? "&emsp;" : "",
                        markdown_code(row.name, true), row.points, row.passed);
  }
  return text;
}

/// With the first visible case that failed.
std::string problem_part(const FailedProblem& of) {
  const auto& [problem, failed] = of;
  std::string text = "#### " + markdown_code(problem) + ": " + failed.counts() + "\n\n";
  for (const std::string& line : failed.lines()) {
    text += (line.starts_with(' ') ? "  " : "- ") + markdown_text(line) + "\n";
  }
  if (failed.cases.empty()) return text + "\n";
  const FailingCase first = failed.simplest_first().front();
  const Result& result = *first.result;
  text += fmt::format("- **{}** {}", name(result.status),
                      failed.all_alike() ? "in all" : markdown_code(result.case_name.value_or("")));
  if (!failed.all_alike() && !first.text->sizes.empty())
    text += " " + markdown_code(first.text->sizes);
  if (!result.message.empty()) text += ": " + markdown_code(result.message);
  text += "\n\n";
  if (!first.text->numbers.empty()) {
    std::vector<std::string> lines = lines_of(first.text->numbers);
    for (std::string& line : lines) line = printable(line, 400);
    text += markdown_block(lines) + "\n";
  }
  if (result.repeat.empty()) return text;
  return text + markdown_block(std::vector{printable(result.repeat, 4000)}) + "\n";
}

// ---- Annotations

/// GitHub shows so many errors of one step.
constexpr std::size_t most_annotated = 10;

/// As the runner undoes it.
std::string in_per_cent(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    const bool is_special = special.find(c) != special.npos;
    escaped += is_special ? fmt::format("%{:02X}", c) : std::string(1, c);
  }
  return escaped;
}

/// ':' and ',' would end the value of a property.
std::string error_line(const std::string& title, const std::string& message) {
  return "::error title=" + in_per_cent(title, "%\r\n:,") + "::" + in_per_cent(message, "%\r\n") +
         "\n";
}

std::string message_of(const Failures& failed) {
  std::string text;
  for (const std::string& line : failed.lines()) text += line + "\n";
  if (failed.cases.empty()) {
    return text +
           "only hidden cases failed: other values or other sizes than those that can be seen";
  }
  const Result& result = *failed.simplest_first().front().result;
  text += std::string(name(result.status)) + "  " +
          (failed.all_alike() ? "in all" : printable(result.case_name.value_or(""))) + "\n";
  if (!result.message.empty()) text += printable(result.message) + "\n";
  return text + "repeat: " + printable(result.repeat, 4000);
}

}  // namespace

std::string grade_markdown(const Grading& grading) {
  std::string text = "### " + markdown_code(grading.submission) + ": " + score_text(grading) +
                     "\n\n" + markdown_text(grading.kind_text()) + " by " +
                     markdown_code(grading.rubric) + ": " + markdown_text(grading.title) + "\n\n" +
                     counts_text(grading) + "\n\n";
  for (const std::string& note : grading.notes) text += "- " + markdown_code(note) + "\n";
  if (!grading.notes.empty()) text += "\n";
  if (grading.status != Status::passed) {
    text += fmt::format("**{}**\n\n", name(grading.status)) +
            markdown_block(message_lines(grading)) + "\n";
  }
  text += points_in_markdown(grading) + "\n";
  for (const FailedProblem& each : failed_problems(grading)) text += problem_part(each);
  return text;
}

std::string grade_annotations(const Grading& grading) {
  if (grading.status != Status::passed) {
    return error_line(printable(grading.submission, 100) + ": " + std::string(name(grading.status)),
                      joined(message_lines(grading), "\n"));
  }
  std::vector<std::string> lines;
  for (const FailedProblem& each : failed_problems(grading)) {
    lines.push_back(error_line(printable(each.problem, 100) + ": " + each.failed.counts(),
                               message_of(each.failed)));
  }
  std::string text;
  const bool too_many = lines.size() > most_annotated;
  const std::size_t told = too_many ? most_annotated - 1 : lines.size();
  for (std::size_t i = 0; i < told; ++i) text += lines[i];
  if (too_many) {
    text += error_line(fmt::format("{} more problems failed", lines.size() - told),
                       "GitHub shows 10 errors of a step; the log has them all");
  }
  return text;
}

// ---- A terminal

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
    for (const std::string& line : lines_of(grading.message)) text += printable(line) + "\n    ";
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
