// The summary that a job of continuous integration shows: GitHub's Markdown.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "grade/report_parts.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

std::string points_rows(const Grading& grading) {
  std::string text = "| Item | Points | Cases passed |\n|:--|--:|--:|\n";
  for (const std::vector<Cell>& row : points_table(grading).rows) {
    const bool group = row[0].text.starts_with("  ");
    const auto trimmed = [group](const Cell& cell) { return cell.text.substr(group ? 2 : 0); };
    text += fmt::format("| {}{} | {} | {} |\n", group ? "&emsp;" : "",
                        markdown_code(trimmed(row[0]), true), trimmed(row[1]), trimmed(row[2]));
  }
  return text;
}

/// What came of one problem where something failed, with the first visible case that did.
std::string problem_part(const GradedItem& item, const std::string& problem) {
  const Failures failed = failures_of(item, problem);
  if (!failed.any()) return "";
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

}  // namespace

std::string grade_markdown(const Grading& grading) {
  std::string text = "### " + markdown_code(grading.submission) + ": " + score_text(grading) +
                     "\n\n" + markdown_text(grading.kind) + " by " + markdown_code(grading.rubric) +
                     ": " + markdown_text(grading.title) + "\n\n" + counts_text(grading) + "\n\n";
  for (const std::string& note : grading.notes) text += "- " + markdown_code(note) + "\n";
  if (!grading.notes.empty()) text += "\n";
  if (grading.status != Status::passed) {
    text += fmt::format("**{}**\n\n", name(grading.status)) +
            markdown_block(message_lines(grading)) + "\n";
  }
  text += points_rows(grading) + "\n";
  if (grading.status != Status::passed) return text;  // every case fails alike
  for (const GradedItem& item : grading.items) {
    for (const std::string& problem : item.problems) text += problem_part(item, problem);
  }
  return text;
}

}  // namespace prenorm::harness
