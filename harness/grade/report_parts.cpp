#include "grade/report_parts.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {

std::string points_text(double points) {
  // Adding zero makes +0 of -0.
  std::string text = fmt::format("{:.2f}", std::round(points * 100) / 100 + 0.0);
  if (!std::isfinite(points)) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string of_points(double points) {
  return points_text(points) + (points == 1 ? " point" : " points");
}

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
  std::string text = fmt::format("{}/{}", group.passed, group.total);
  if (group.hidden_total > 0) {
    text += fmt::format(", hidden {}/{}", group.hidden_passed, group.hidden_total);
  }
  return text;
}

std::vector<PointsRow> points_rows(const Grading& grading) {
  std::vector<PointsRow> rows;
  for (const GradedItem& item : grading.items) {
    const auto passed = std::ranges::count(
        item.cases, Status::passed, [](const GradedCase& graded) { return graded.result.status; });
    rows.push_back({printable(item.name),
                    points_text(item.earned) + " / " + points_text(item.points),
                    fmt::format("{}/{}", passed, item.cases.size()), false,
                    tone_of(item.earned, item.points)});
    if (item.earned >= item.points || passed == 0) continue;
    for (const GradedGroup& group : item.groups) {
      const std::string part = points_text(worth(item, group));
      std::string counts = group_counts(group);
      if (!group.lost_by.empty()) counts += ", all but " + printable(group.lost_by);
      rows.push_back({printable(group.name), (group.earned ? part : "0") + " / " + part, counts,
                      true, group.earned ? Tone::quiet : Tone::bad});
    }
  }
  return rows;
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
  found.causes = causes_of(problem, item.diagnoses, item.clues, item.properties, undiagnosed);
  return found;
}

std::vector<const GradedItem*> by_points_lost(const Grading& grading) {
  std::vector<const GradedItem*> items;
  for (const GradedItem& item : grading.items) items.push_back(&item);
  std::ranges::stable_sort(items, std::ranges::greater(), &GradedItem::lost);
  return items;
}

std::vector<FailedProblem> failed_problems(const Grading& grading) {
  std::vector<FailedProblem> all;
  if (grading.status != Status::passed) return all;
  for (const GradedItem* item : by_points_lost(grading)) {
    for (const std::string& problem : item->problems) {
      Failures failed = failures_of(*item, problem);
      if (failed.any()) all.push_back({problem, std::move(failed)});
    }
  }
  return all;
}

std::vector<std::string> message_lines(const Grading& grading) {
  constexpr std::size_t most = 60;
  std::vector<std::string> lines = lines_of(grading.message);
  for (std::string& line : lines) line = printable(line);
  if (lines.size() > most) {
    lines.resize(most);
    lines.emplace_back("...");
  }
  return lines;
}

std::string score_text(const Grading& grading) {
  if (!grading.gradeable()) return "not gradeable";
  return points_text(grading.earned()) + " of " + points_text(grading.points()) + " points" +
         (grading.not_asked > 0 ? ", not graded whole" : "");
}

std::string counts_text(const Grading& grading) {
  const Summary summary = summarize(grading.results(false), true);
  return fmt::format("{} passed, {} failed, {} skipped in {}", summary.passed, summary.failed,
                     summary.skipped, duration(grading.seconds));
}

}  // namespace prenorm::harness
