#include "grade/report_parts.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness {
namespace {

std::string share_text(std::int64_t part, std::int64_t whole) {
  return fmt::format("{}/{}", part, whole);
}

}  // namespace

Tone tone_of(double earned, double points) {
  return earned >= points ? Tone::good : earned > 0 ? Tone::plain : Tone::bad;
}

double worth(const GradedItem& item, const GradedGroup& group) {
  std::int64_t shares = 0;
  for (const GradedGroup& each : item.groups) shares += each.asked() > 0 ? each.share : 0;
  if (group.asked() == 0 || shares == 0) return 0;
  return item.points * static_cast<double>(group.share) / static_cast<double>(shares);
}

std::string group_counts(const GradedGroup& group) {
  std::string text = share_text(group.passed, group.total);
  if (group.hidden_total > 0) {
    text += ", hidden " + share_text(group.hidden_passed, group.hidden_total);
  }
  return text;
}

Table points_table(const Grading& grading) {
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
    for (const GradedGroup& group : item.groups) {
      const double part = worth(item, group);
      const Tone quiet = group.earned ? Tone::quiet : Tone::bad;
      table.rows.push_back(
          {{"  " + printable(group.name), quiet},
           {"  " + (group.earned ? points_text(part) : "0") + " / " + points_text(part), quiet},
           {"  " + group_counts(group), quiet}});
    }
  }
  return table;
}

bool is_failure(const GradedCase& graded) { return graded.result.status != Status::passed; }

Failures failures_of(const GradedItem& item, const std::string& problem) {
  Failures found;
  for (const GradedCase& graded : item.cases) {
    if (graded.result.problem != problem) continue;
    if (graded.hidden) {
      found.add_hidden(is_failure(graded));
    } else {
      found.add(graded.result, &graded.told, is_failure(graded));
    }
  }
  const bool undiagnosed = std::ranges::find(item.undiagnosed, problem) != item.undiagnosed.end();
  found.causes = causes_of(problem, item.diagnoses, item.properties, undiagnosed);
  return found;
}

std::vector<std::string> message_lines(const Grading& grading, std::size_t most) {
  std::istringstream in(grading.message);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (lines.size() == most) {
      lines.emplace_back("...");
      break;
    }
    lines.push_back(printable(line));
  }
  return lines;
}

std::string score_text(const Grading& grading) {
  if (!grading.gradeable()) return "not gradeable";
  return points_text(grading.earned()) + " of " + points_text(grading.points()) + " points";
}

std::string counts_text(const Grading& grading) {
  const Summary summary = summarize(grading.results(false), true);
  return fmt::format("{} passed, {} failed, {} skipped in {}", summary.passed, summary.failed,
                     summary.skipped, duration(grading.seconds));
}

}  // namespace prenorm::harness
