// results.json as Gradescope reads it:
// https://gradescope-autograders.readthedocs.io/en/latest/specs/
#include "base/json.hpp"
#include "base/text.hpp"
#include "explain/causes.hpp"
#include "explain/failures_report.hpp"
#include "grade/report_parts.hpp"
#include "grade/submission.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace prenorm::harness {
namespace {

constexpr const char* visible = "visible";

/// Failing cases of a group that are told.
constexpr std::size_t most_told = 3;

/// Points that are written have four digits behind the point. Sums of those written are those of
/// the whole: each is the difference of two rounded sums.
constexpr std::int64_t parts_of_a_point = 10000;

std::int64_t in_parts(double points) { return std::llround(points * parts_of_a_point); }
double in_points(std::int64_t parts) { return static_cast<double>(parts) / parts_of_a_point; }

std::string diagnoses_text(const GradedItem& item, const std::string& problem) {
  std::string text;
  for (const std::string& line : failures_of(item, problem).lines()) {
    text += (line.starts_with(' ') ? "" : printable(problem) + ": ") + printable(line, 2000) + "\n";
  }
  return text;
}

/// The same where nothing may be told of hidden cases, which diagnoses count: for wrong numbers of
/// visible cases the words of their mistakes alone.
std::string mistakes_text(const GradedItem& item, const std::string& problem) {
  const Failures failed = failures_of(item, problem);
  std::string text;
  std::size_t number = 0;  // among those of the problem
  for (const Diagnosis& diagnosis : item.diagnoses) {
    if (diagnosis.problem != problem) continue;
    const std::size_t cause = number++;
    const bool is_seen = std::ranges::any_of(
        failed.cases, [&](const FailingCase& each) { return each.text->cause == cause; });
    if (!is_seen) continue;
    text += printable(problem) + " " + printable(looks_like(diagnosis)) + "\n";
    for (const std::string& line : lines_of(words_of(problem, diagnosis.mistake))) {
      text += "  " + line + "\n";
    }
  }
  return text;
}

/// "5 of 7 hidden cases passed; 1 INCORRECT_NUMERICAL, 1 TIMEOUT": nothing else of them.
std::string hidden_text(const GradedItem& item, const GradedGroup& group) {
  std::map<std::string, std::size_t> others;
  for (const GradedCase& graded : item.cases) {
    if (graded.hidden && graded.is_in(group.name) && graded.result.status != Status::passed) {
      ++others[std::string(name(graded.result.status))];
    }
  }
  std::vector<std::string> words;
  for (const auto& [status, count] : others) words.push_back(fmt::format("{} {}", count, status));
  std::string text =
      fmt::format("{} of {} passed{}{}.\n", group.hidden_passed,
                  counted(static_cast<std::size_t>(group.hidden_total), "hidden case"),
                  words.empty() ? "" : ": ", joined(words));
  text += "Hidden cases have other values and sizes; only how they end is told.\n";
  for (const std::string& problem : item.problems) {  // else its visible cases tell it
    if (failures_of(item, problem).cases.empty()) text += diagnoses_text(item, problem);
  }
  return text;
}

std::string case_text(const FailingCase& failing, bool snippet) {
  FailureText text = *failing.text;
  if (!snippet) text.snippet.clear();
  return failing_case_text(*failing.result, text, false, 100, false);
}

/// Of a group of visible cases: what failed and why. `told`: what hidden cases gave may be.
std::string visible_text(const GradedItem& item, const GradedGroup& group, bool told) {
  std::vector<FailingCase> failed;
  std::set<std::string> problems;
  for (const GradedCase& graded : item.cases) {
    if (graded.hidden || !graded.is_in(group.name) || !is_failure(graded)) continue;
    failed.push_back({&graded.result, &graded.told});
    problems.insert(graded.result.problem);
  }
  std::string text = fmt::format("{} of {} passed.\n", group.passed,
                                 counted(static_cast<std::size_t>(group.total), "case"));
  for (const std::string& problem : item.problems) {
    if (!problems.contains(problem)) continue;
    text += told ? diagnoses_text(item, problem) : mistakes_text(item, problem);
    if (const Failures all = failures_of(item, problem); all.all_alike()) {
      const Result& result = *all.cases.front().result;
      text += printable(problem) + ": " + std::string(name(result.status)) +
              " in all: " + printable(result.message) + "\n";
      if (!all.none_ran()) text += "\n" + case_text(all.simplest_first().front(), true);
      std::erase_if(failed, [&](const auto& each) { return each.result->problem == problem; });
    }
  }
  for (std::size_t i = 0; i < std::min(failed.size(), most_told); ++i) {
    text += "\n" + case_text(failed[i], i == 0);
  }
  if (failed.size() > most_told) {
    text += fmt::format("\nand {} more\n", failed.size() - most_told);
  }
  return text;
}

Json test_object(const GradedItem& item, const std::string& part, std::int64_t score,
                 std::int64_t most, bool passed) {
  Json test;
  test["score"] = in_points(score);
  test["max_score"] = in_points(most);
  test["status"] = passed ? "passed" : "failed";
  test["name"] = printable(item.name, 200) + (part.empty() ? "" : ": " + printable(part, 200));
  return test;
}

/// The tests of one item: a group each, for points are earned so; two where hidden cases may not
/// be told of yet.
void add_tests(Json& tests, const GradedItem& item, std::size_t number,
               const std::string& hidden_visibility) {
  const std::int64_t whole = in_parts(item.points);
  const bool told = hidden_visibility == visible;
  double points = 0;
  std::int64_t before = 0;
  std::size_t last = 0;
  for (const GradedGroup& group : item.groups) {
    if (group.asked() == 0) continue;  // nothing of it could be asked
    points += worth(item, group);
    const std::int64_t now = std::min(whole, in_parts(points)), most = now - before;
    before = now;
    const auto add = [&](Json test, const std::string& text, const std::string& visibility) {
      test["number"] = fmt::format("{}.{}", number, ++last);
      test["output"] = text;
      test["tags"] = {printable(item.name, 200)};
      test["visibility"] = visibility;
      tests.push_back(std::move(test));
    };
    const std::string shown = visible_text(item, group, told);
    const Json test = test_object(item, group.name, group.earned ? most : 0, most, group.earned);
    if (group.hidden_total == 0) {
      add(test, shown, visible);
    } else if (told) {
      add(test, shown + "\n" + hidden_text(item, group), visible);
    } else {  // the points tell how the hidden cases ended
      Json first = test_object(item, group.name, 0, 0, group.passed == group.total);
      add(std::move(first), shown + "\nIts points come with its hidden cases.\n", visible);
      Json second = test;
      second["name"] =
          printable(item.name, 200) + ": " + printable(group.name, 200) + ", with hidden cases";
      add(std::move(second), hidden_text(item, group), hidden_visibility);
    }
  }
  if (last > 0) return;
  Json test = test_object(item, "", 0, whole, false);
  test["number"] = std::to_string(number);
  test["output"] = "Nothing of it could be asked.\n";
  test["tags"] = {printable(item.name, 200)};
  test["visibility"] = visible;
  tests.push_back(std::move(test));
}

/// The sum, the counts and the notes, which speak of hidden cases too.
std::string whole_text(const Grading& grading) {
  std::string text = score_text(grading) + "; " + counts_text(grading) + "\n";
  for (const std::string& note : grading.notes) text += printable(note) + "\n";
  return text;
}

/// A test worth nothing, which says later what the text on the whole may not say now.
Json whole_object(const Grading& grading, const std::string& visibility) {
  Json test;
  test["score"] = 0;
  test["max_score"] = 0;
  test["status"] = "passed";
  test["name"] = "the whole submission";
  test["output"] = whole_text(grading);
  test["visibility"] = visibility;
  return test;
}

bool asks_hidden(const Grading& grading) {
  return std::ranges::any_of(grading.items, [](const GradedItem& item) {
    return std::ranges::any_of(item.cases, &GradedCase::hidden);
  });
}

/// What holds for the whole submission; of hidden cases where that is `told`.
std::string output_text(const Grading& grading, bool told) {
  std::string text = printable(grading.kind_text()) + " by " + printable(grading.rubric) + ": " +
                     printable(grading.title) + "\n";
  if (told) text += whole_text(grading);
  if (!grading.gradeable()) {
    text += grading.unreadable
                ? "NOT GRADED: Python cannot read your code. Fix it and hand in again.\n"
                : "NOT GRADEABLE: tell the staff. Nothing of it could be loaded, so the score 0 is "
                  "no grade.\n";
  }
  if (grading.not_asked > 0) {
    text += fmt::format("NOT GRADED WHOLE: tell the staff. {} not run, so the score is no grade.\n",
                        counted(static_cast<std::size_t>(grading.not_asked), "case"));
  }
  if (grading.status == Status::passed) return text;
  text += "\n" + std::string(name(grading.status)) + "\n";
  return text + joined(message_lines(grading), "\n") + "\n";
}

}  // namespace

std::string grade_gradescope(const Grading& grading, const std::string& hidden_visibility) {
  Json tests = Json::array();
  const std::string visibility = asks_hidden(grading) ? hidden_visibility : visible;
  const bool told = visibility == visible;
  std::size_t number = 0;
  for (const GradedItem& item : grading.items) add_tests(tests, item, ++number, visibility);
  std::int64_t score = 0;
  for (const Json& test : tests) score += in_parts(test["score"].get<double>());
  Json object;
  object["score"] = in_points(score);
  object["execution_time"] = std::round(grading.seconds * 100) / 100;
  if (!told) tests.push_back(whole_object(grading, visibility));
  object["output"] = output_text(grading, told);
  // Text and nothing else: what a submission says must not become a link or a picture.
  object["output_format"] = "text";
  object["test_output_format"] = "text";
  object["test_name_format"] = "text";
  object["visibility"] = visible;
  object["stdout_visibility"] = "hidden";
  object["extra_data"] = {{"prenorm", std::string(program_version())},
                          {"rubric", printable(grading.rubric, 200)},
                          {"sandbox", printable(grading.sandbox, 200)},
                          {"status", std::string(name(grading.status))}};
  object["tests"] = std::move(tests);
  return to_text(object);
}

}  // namespace prenorm::harness
