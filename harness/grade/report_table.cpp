#include "grade/grading.hpp"
#include "grade/words.hpp"
#include "printable.hpp"
#include "report/table.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness {
namespace {

/// Failing cases of one problem that are told, unless all are asked for.
constexpr std::size_t most_told = 5;

Tone tone_of(double earned, double points) {
  return earned >= points ? Tone::good : earned > 0 ? Tone::plain : Tone::bad;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  return fmt::format("{}/{}", part, whole);
}

/// A row an item; below one of which some cases passed, and which has not earned everything, a row
/// a group with its part of the points.
Table overview(const Grading& grading) {
  Table table;
  table.head = {"item", "points", "cases passed"};
  for (const GradedItem& item : grading.items) {
    const Tone tone = tone_of(item.earned, item.points);
    const auto passed = std::ranges::count(
        item.cases, Status::passed, [](const GradedCase& graded) { return graded.result.status; });
    table.rows.push_back({{printable(item.name), tone},
                          {points_text(item.earned) + " / " + points_text(item.points), tone},
                          {share_text(passed, std::ssize(item.cases)), tone}});
    if (item.earned >= item.points || passed == 0) continue;
    std::int64_t shares = 0;
    for (const GradedGroup& group : item.groups) shares += group.share;
    for (const GradedGroup& group : item.groups) {
      const double worth =
          item.points * static_cast<double>(group.share) / static_cast<double>(shares);
      const Tone quiet = group.earned ? Tone::quiet : Tone::bad;
      table.rows.push_back(
          {{"  " + printable(group.name), quiet},
           {"  " + (group.earned ? points_text(worth) : "0") + " / " + points_text(worth), quiet},
           {"  " + share_text(group.passed, group.total), quiet}});
    }
  }
  return table;
}

bool is_failure(const GradedCase& graded) {
  return graded.result.status != Status::passed && graded.result.status != Status::skipped;
}

std::string diagnosis_lines(const GradedItem& item, const std::string& problem) {
  std::string text;
  for (const Diagnosis& diagnosis : item.diagnoses) {
    if (diagnosis.problem != problem) continue;
    text += fmt::format("    looks like a known mistake: {} (agrees on {} of {})\n",
                        as_words(diagnosis.mistake), diagnosis.agrees,
                        counted(static_cast<std::size_t>(diagnosis.of), "case"));
  }
  if (std::ranges::find(item.undiagnosed, problem) != item.undiagnosed.end()) {
    text += "    looks like none of the known mistakes\n";
  }
  return text;
}

std::string failing_case(const GradedCase& graded, bool colour) {
  const Result& result = graded.result;
  std::string text = "  " + toned(name(result.status), Tone::bad, colour) + "  " +
                     toned(printable(*result.case_name), Tone::strong, colour) + "  " +
                     toned(printable(graded.shapes), Tone::quiet, colour) + "\n";
  if (!result.message.empty()) text += "    " + printable(result.message) + "\n";
  return text + "    " + toned("repeat: " + printable(result.repeat, 4000), Tone::quiet, colour) +
         "\n";
}

/// What came of one problem where something failed.
std::string problem_lines(const GradedItem& item, const std::string& problem, bool colour,
                          bool verbose) {
  std::vector<const GradedCase*> visible;
  std::size_t asked = 0, hidden = 0, asked_hidden = 0;
  for (const GradedCase& graded : item.cases) {
    if (graded.result.problem != problem) continue;
    ++(graded.hidden ? asked_hidden : asked);
    if (!is_failure(graded)) continue;
    if (graded.hidden) {
      ++hidden;
    } else {
      visible.push_back(&graded);
    }
  }
  if (visible.empty() && hidden == 0) return "";
  std::string text = toned(printable(problem), Tone::strong, colour) + ": ";
  text += fmt::format("{} of {} failed", visible.size(), counted(asked, "case"));
  if (asked_hidden > 0) text += fmt::format(", {} of {} hidden", hidden, asked_hidden);
  text += "\n" + diagnosis_lines(item, problem);
  const auto alike = [&](const GradedCase* graded) {
    return graded->result.status == visible.front()->result.status &&
           graded->result.message == visible.front()->result.message;
  };
  if (visible.size() > 1 && visible.size() == asked && std::ranges::all_of(visible, alike)) {
    const Result& result = visible.front()->result;
    return text + "  " + toned(name(result.status), Tone::bad, colour) +
           "  in all: " + printable(result.message) + "\n";
  }
  const std::size_t told = verbose ? visible.size() : std::min(visible.size(), most_told);
  for (std::size_t i = 0; i < told; ++i) {
    text += failing_case(*visible[i], colour);
  }
  if (visible.size() > told) {
    text += fmt::format("  and {} more: --verbose\n", visible.size() - told);
  }
  return text;
}

}  // namespace

std::string grade_table(const Grading& grading, bool colour, std::size_t width, bool verbose) {
  std::string text = toned(printable(grading.submission), Tone::strong, colour) + " (" +
                     printable(grading.kind) + ") by " + printable(grading.rubric) + ": " +
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
  text += render(overview(grading), colour, width) + "\n";
  if (grading.status == Status::passed) {
    for (const GradedItem& item : grading.items) {
      for (const std::string& problem : item.problems) {
        const std::string lines = problem_lines(item, problem, colour, verbose);
        if (!lines.empty()) text += lines + "\n";
      }
    }
  }
  const Summary summary = summarize(grading.results(false), true);
  const std::string points =
      points_text(grading.earned()) + " of " + points_text(grading.points()) + " points";
  text += toned(points, tone_of(grading.earned(), grading.points()), colour) +
          fmt::format("; {} passed, {} failed, {} skipped in {}\n", summary.passed, summary.failed,
                      summary.skipped, duration(grading.seconds));
  return text;
}

}  // namespace prenorm::harness
