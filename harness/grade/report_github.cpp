// What GitHub shows of a grading: the summary of a job, in its Markdown; and failing problems as
// annotations, lines of the job's log that its runner reads.
#include "base/printable.hpp"
#include "base/text.hpp"
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

/// As the runner undoes it: what comes after "::".
std::string escaped_data(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '%': escaped += "%25"; break;
      case '\r': escaped += "%0D"; break;
      case '\n': escaped += "%0A"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

/// The same for the value of a property, which ':' and ',' would end.
std::string escaped_property(std::string_view text) {
  std::string escaped;
  for (const char c : escaped_data(text)) {
    switch (c) {
      case ':': escaped += "%3A"; break;
      case ',': escaped += "%2C"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string error_line(const std::string& title, const std::string& message) {
  return "::error title=" + escaped_property(title) + "::" + escaped_data(message) + "\n";
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

}  // namespace prenorm::harness
