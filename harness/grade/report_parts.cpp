#include "grade/report_parts.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "explain/failing_cases.hpp"

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

bool has_run(const GradedCase& graded) {
  const Status status = graded.result.status;
  return status != Status::not_implemented && status != Status::load_error &&
         status != Status::compile_error && status != Status::bad_fixture &&
         status != Status::skipped;
}

bool Failures::all_alike() const {
  return visible.size() > 1 && visible.size() == asked &&
         std::ranges::all_of(visible, [&](const GradedCase* graded) {
           return graded->result.status == visible.front()->result.status &&
                  graded->result.message == visible.front()->result.message;
         });
}

bool Failures::none_ran() const {
  return std::ranges::none_of(visible, [](const GradedCase* graded) { return has_run(*graded); });
}

std::string Failures::counts() const {
  const bool skipped =
      !visible.empty() && std::ranges::all_of(visible, [](const GradedCase* graded) {
        return graded->result.status == Status::skipped;
      });
  std::string text = fmt::format("{} of {} {}", visible.size(), counted(asked, "case"),
                                 skipped ? "skipped" : "failed");
  if (asked_hidden > 0) text += fmt::format(", {} of {} hidden", hidden, asked_hidden);
  return text;
}

Failures failures_of(const GradedItem& item, const std::string& problem) {
  Failures found;
  for (const GradedCase& graded : item.cases) {
    if (graded.result.problem != problem) continue;
    ++(graded.hidden ? found.asked_hidden : found.asked);
    if (!is_failure(graded)) continue;
    if (graded.hidden) {
      ++found.hidden;
    } else {
      found.visible.push_back(&graded);
    }
  }
  return found;
}

std::vector<CauseText> causes_of(const GradedItem& item, const std::string& problem) {
  const bool undiagnosed = std::ranges::find(item.undiagnosed, problem) != item.undiagnosed.end();
  return causes_of(problem, item.diagnoses, item.properties, undiagnosed);
}

std::vector<std::string> diagnosis_lines(const GradedItem& item, const std::string& problem) {
  std::vector<std::string> lines = cause_lines(causes_of(item, problem));
  std::map<std::string, Failed> by_dtype;
  std::int64_t refusals = 0, wrong = 0, failed = 0;
  for (const GradedCase& graded : item.cases) {
    if (graded.hidden || graded.result.problem != problem) continue;
    Failed& counts = by_dtype[graded.result.dtype];
    ++counts.asked;
    counts.failed += is_failure(graded) ? 1 : 0;
    refusals += graded.told.refusal ? 1 : 0;
    const bool numbers = graded.result.status == Status::incorrect_numerical;
    wrong += numbers && !graded.told.refusal ? 1 : 0;
    failed += is_failure(graded) && !graded.told.refusal ? 1 : 0;
  }
  const std::string kinds = kinds_line(wrong, failed);
  if (!lines.empty() && !kinds.empty()) lines.insert(lines.begin(), kinds);
  for (const std::string& line : {refusal_line(refusals), dtype_line(by_dtype)}) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

FailingOrder simplest_first(const Failures& failed) {
  std::vector<FailingCase> cases;
  for (const GradedCase* graded : failed.visible) {
    cases.push_back(failing_case(graded->result, &graded->told));
  }
  FailingOrder order;
  for (const std::size_t i : simplest_first(cases)) order.cases.push_back(failed.visible[i]);
  order.shown = shown_at_first(cases);
  return order;
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
