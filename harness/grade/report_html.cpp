// The page that a student opens: what was earned, what failed, why, and how to see it again.
#include "base/json.hpp"
#include "base/text.hpp"
#include "explain/failures_report.hpp"
#include "grade/report_parts.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_text = 1000;         // bytes of a text from outside
constexpr std::size_t most_message_lines = 60;  // of a compiler's message

bool is_passed(const GradedCase& graded) { return !is_failure(graded); }

/// Lines of a message as they were written, safe each for itself: HTML.
std::string message_html(std::string_view message) {
  std::string text;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin <= message.size(); ++lines) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    if (lines == most_message_lines) return text + "...";
    text += escaped(message.substr(begin, end - begin), 500) + "\n";
    begin = end + 1;
  }
  return text;
}

/// Cases in a list, with their number.
Json list_of(std::span<const FailingCase> cases) {
  if (cases.empty()) return {};
  return {{"count", counted(cases.size(), "case")},
          {"each", array_of(cases, [](const FailingCase& each) {
             return case_values(*each.result, *each.text);
           })}};
}

/// Cases that fail alike, with nothing to say of each: a function that is missing, a library that
/// cannot be loaded, an exception that the first of them shows.
Json alike_cases(std::span<const FailingCase> cases, bool all) {
  Json values = case_values(*cases.front().result, *cases.front().text);
  values.update(list_of(cases));
  values["all"] = all ? "all " : "";
  return values;
}

// ---- One problem, one item

/// What explains a problem's wrong numbers.
Json diagnosis_of(const Failures& failures) {
  std::vector<CauseText> all = failures.causes;
  for (const std::string& remark : failures.remarks()) all.push_back({remark});
  Json causes = cause_values(all);
  if (causes.is_null()) return {};
  const bool shown = std::ranges::any_of(failures.cases, [](const FailingCase& each) {
    return each.result->status == Status::incorrect_numerical;
  });
  causes["only_hidden"] = !shown && failures.hidden > 0;
  return causes;
}

/// Nothing of a hidden case but its status.
Json hidden_values(std::span<const GradedCase* const> cases) {
  if (cases.empty()) return {};
  std::map<std::string_view, std::size_t> counts;
  for (const GradedCase* graded : cases) ++counts[name(graded->result.status)];
  const std::size_t passed = counts[name(Status::passed)];
  counts.erase(name(Status::passed));
  Json failed = Json::array();
  for (const auto& [status, count] : counts) {
    failed.push_back({{"status", status}, {"count", count}});
  }
  return {{"called", cases.size() == 1 ? "Hidden case:" : "Hidden cases:"},
          {"passed", passed},
          {"total", cases.size()},
          {"failed", failed}};
}

Json problem_values(const GradedItem& item, const std::string& problem, bool titled) {
  const Failures failures = failures_of(item, problem);
  const std::vector<FailingCase> failing = failures.simplest_first();
  std::vector<FailingCase> passed;
  std::vector<const GradedCase*> hidden;
  for (const GradedCase& graded : item.cases) {
    if (graded.result.problem != problem) continue;
    if (graded.hidden) {
      hidden.push_back(&graded);
    } else if (is_passed(graded)) {
      passed.push_back({&graded.result, &graded.told});
    }
  }
  Json parts = Json::array();
  std::size_t pictured = 0;
  bool opened = false;
  for (std::size_t begin = 0; begin < failing.size();) {
    const Result& first = *failing[begin].result;
    const auto is_alike = [&](const FailingCase& other) {
      return other.result->status == first.status && other.result->message == first.message &&
             other.result->outputs.empty();
    };
    std::size_t end = begin;
    while (end < failing.size() && is_alike(failing[end])) ++end;
    const bool one_first = has_run(first.status);
    if (end > begin + (one_first ? 2 : 1)) {
      if (one_first) {
        const FailingCase& one = failing[begin++];
        parts.push_back(
            {{"one", failing_case_values(*one.result, *one.text, !opened)}, {"alike", nullptr}});
        opened = true;
      }
      const bool all = end - begin == failing.size() && passed.empty();
      const std::span alike = std::span(failing).subspan(begin, end - begin);
      parts.push_back({{"one", nullptr}, {"alike", alike_cases(alike, all)}});
      begin = end;
      continue;
    }
    const FailingCase& one = failing[begin++];
    FailureText text = *one.text;
    if (!text.errors.empty() && pictured++ >= most_pictured) text.errors.clear();
    parts.push_back({{"one", failing_case_values(*one.result, text, !opened)}, {"alike", nullptr}});
    opened = true;
  }
  return {{"problem", titled ? printable(problem, 200) : ""},
          {"diagnosis", diagnosis_of(failures)},
          {"failing", parts},
          {"right", list_of(passed)},
          {"hidden", hidden_values(hidden)}};
}

/// "✓ earned float32 12/12", with what the group is worth.
Json group_values(const GradedItem& item, const GradedGroup& group) {
  return {{"tone", css_class(group.earned ? Tone::good : Tone::bad)},
          {"mark", group.earned ? "✓ earned" : "✗"},
          {"name", printable(group.name, 100)},
          {"counts", group_counts(group)},
          {"worth", item.groups.size() > 1 ? ", " + of_points(worth(item, group)) : ""}};
}

Json item_values(const GradedItem& item, std::size_t number) {
  const auto of_group = [&](const GradedGroup& group) { return group_values(item, group); };
  const auto of_problem = [&](const std::string& problem) {
    const bool titled = item.problems.size() > 1 || problem != item.name;
    return problem_values(item, problem, titled);
  };
  return {{"number", number},
          {"name", printable(item.name, 200)},
          {"tone", css_class(tone_of(item.earned, item.points))},
          {"heading_tone", item.earned >= item.points ? "good" : "quiet"},
          {"earned", points_text(item.earned)},
          {"points", points_text(item.points)},
          {"of_points", of_points(item.points)},
          {"groups", array_of(item.groups, of_group)},
          {"problems", array_of(item.problems, of_problem)}};
}

Json texts(const std::vector<std::string>& lines) {
  return listed(array_of(lines, [](const auto& line) { return printable(line, most_text); }));
}

}  // namespace

std::string grade_html(const Grading& grading) {
  const double points = grading.points(), earned = grading.earned();
  const double share = points > 0 ? std::clamp(earned / points, 0.0, 1.0) : 0;
  Json items = Json::array(), sections = Json::array(), imports = texts(grading.imports), stopped;
  std::int64_t passed = 0;
  std::size_t cases = 0;
  bool any_hidden = false;
  for (const GradedItem& item : grading.items) {
    items.push_back(item_values(item, items.size() + 1));
    cases += item.cases.size();
    passed += std::ranges::count_if(item.cases, is_passed);
    any_hidden = any_hidden || std::ranges::any_of(item.cases, &GradedCase::hidden);
  }
  for (const GradedItem* item : by_points_lost(grading)) {
    sections.push_back(items[static_cast<std::size_t>(item - grading.items.data())]);
  }
  if (!imports.is_null()) imports["count"] = counted(grading.imports.size(), "symbol");
  if (grading.status != Status::passed) {
    stopped = {{"status", name(grading.status)},
               {"meaning", meaning_of(grading.status)},
               {"message", message_html(grading.message)}};
  }
  return render_page(
      "grade", {{"page_title", printable(grading.submission + ": " + points_text(earned) + " of " +
                                             of_points(points),
                                         200)},
                {"submission", printable(grading.submission, 200)},
                {"kind", printable(grading.kind_text(), 100)},
                {"title", printable(grading.title, 300)},
                {"rubric", printable(grading.rubric, 200)},
                {"earned", points_text(earned)},
                {"points", of_points(points)},
                {"not_whole", grading.not_whole()},
                {"share", fmt::format("{:.1f}", 100 * share)},
                {"stopped", stopped},
                {"passed", passed},
                {"cases", counted(cases, "case")},
                {"time", duration(grading.seconds)},
                {"notes", texts(grading.notes)},
                {"imports", imports},
                {"any_hidden", any_hidden},
                {"items", listed(items)},
                {"sections", sections},
                {"profiles", profiles_values(grading.profiles)}});
}

}  // namespace prenorm::harness
