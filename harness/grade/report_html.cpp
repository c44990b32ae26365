// The page that a student opens: what was earned, what failed, why, and how to see it again.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "explain/error_picture.hpp"
#include "grade/report_parts.hpp"
#include "grade/words.hpp"
#include "report/page.hpp"
#include "report/json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <span>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_text = 1000;  // bytes of a text from outside
constexpr std::size_t most_lines = 60;   // of a compiler's message

double sum(const std::vector<GradedItem>& items, double GradedItem::*of) {
  double total = 0;
  for (const GradedItem& item : items) total += item.*of;
  return total;
}

/// What a status says to somebody who sees it for the first time.
std::string_view meaning(Status status) {
  switch (status) {
    case Status::not_implemented: return "There is no function for it yet.";
    case Status::incorrect_shape: return "The result has another shape than is wanted.";
    case Status::incorrect_dtype: return "The result has another element type than is wanted.";
    case Status::incorrect_numerical: return "Some numbers are wrong.";
    case Status::input_mutated: return "The function changed one of its inputs.";
    case Status::out_of_bounds: return "The function wrote or read beside its tensors.";
    case Status::nondeterministic: return "The same call gave other numbers the second time.";
    case Status::runtime_error: return "The function failed, or the process died in it.";
    case Status::timeout: return "There was no answer in time.";
    case Status::out_of_memory: return "It took more memory than it may.";
    case Status::sandbox_violation: return "It tried what a submission may not do.";
    case Status::compile_error: return "It could not be built.";
    case Status::load_error: return "It could not be loaded.";
    case Status::bad_fixture: return "A file could not be read.";
    case Status::skipped: return "It was left out.";
    default: return "";
  }
}

/// Two numbers with as many digits as it takes to tell them apart, at least eight.
std::pair<std::string, std::string> told_apart(double a, double b) {
  const auto text = [](double value, int digits) {
    if (!std::isfinite(value)) return short_number(value);
    return fmt::format("{:.{}g}", value, digits);
  };
  for (int digits = 8;; ++digits) {
    std::pair texts{text(a, digits), text(b, digits)};
    if (texts.first != texts.second || digits == 17) return texts;
  }
}

/// "y[1, 2, 5]": an element, or a shape.
std::string index_text(const std::string& tensor, const Shape& index) {
  std::string text = tensor + "[";
  for (std::size_t i = 0; i < index.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(index[i]);
  }
  return text + "]";
}

bool is_passed(const GradedCase& graded) { return graded.result.status == Status::passed; }

/// Lines of a message as they were written, safe each for itself: HTML.
std::string lines_of(std::string_view message) {
  std::string text;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin <= message.size(); ++lines) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    if (lines == most_lines) return text + "...";
    text += escaped(message.substr(begin, end - begin), 500) + "\n";
    begin = end + 1;
  }
  return text;
}

// ---- One failing case

/// What is known of one output that was compared: how many miss, and the worst.
Json output_values(const OutputReport& output, bool alone) {
  const double share = output.elements > 0 ? 100.0 * static_cast<double>(output.mismatches) /
                                                 static_cast<double>(output.elements)
                                           : 0;
  Json worst;
  if (output.worst_actual && output.worst_expected) {
    const double actual = *output.worst_actual, expected = *output.worst_expected;
    const auto [got, wanted] = told_apart(actual, expected);
    const double bound = output.atol + output.rtol * std::abs(expected);
    const double error = std::abs(actual - expected);
    const auto number = [](double value, bool shown) {
      return shown ? short_number(value) : std::string();
    };
    worst = {{"index", printable(index_text(output.name, output.worst_index), most_text)},
             {"actual", got},
             {"expected", wanted},
             {"error", number(error, std::isfinite(error))},
             {"times", number(error / bound, bound > 0)},
             {"bound", number(bound, bound > 0 && std::isfinite(bound))},
             {"exact", !(bound > 0) && std::isfinite(bound)},
             {"atol", short_number(output.atol)},
             {"rtol", short_number(output.rtol)}};
  }
  std::string largest;
  const auto add = [&](const std::optional<double>& value, std::string_view what) {
    if (value) largest += (largest.empty() ? "" : ", ") + short_number(*value) + std::string(what);
  };
  add(output.max_abs_error, " absolute");
  add(output.max_rel_error, " relative");
  add(output.max_ulp_error, " units in the last place");
  return {{"any", output.mismatches > 0},
          {"told", output.mismatches > 0 || alone},
          {"output", printable(output.name, 100)},
          {"mismatches", output.mismatches},
          {"elements", output.elements},
          {"share", fmt::format("{:.3g}", share)},
          {"worst", worst},
          {"largest", largest}};
}

Json figure_values(const ErrorMap& map, const Result& result) {
  const auto found = std::ranges::find(result.outputs, map.tensor, &OutputReport::name);
  const OutputReport* report = found == result.outputs.end() ? nullptr : &*found;
  std::int64_t elements = 1;
  for (const std::int64_t extent : map.shape) elements *= extent;
  return {{"map", heat_map(map, report)},
          {"bars", histogram(map, report)},
          {"shape", printable(index_text(map.tensor, map.shape), 200)},
          {"pooled", map.rows * map.columns != elements},
          {"crosses",
           std::ranges::any_of(map.cells, [](double ratio) { return !std::isfinite(ratio); })}};
}

/// What a list says of a case.
Json case_values(const GradedCase& graded) {
  const Result& result = graded.result;
  return {{"case_name", printable(result.case_name.value_or(result.fixture), 200)},
          {"dtype", printable(result.dtype, 50)},
          {"shapes", printable(graded.shapes, most_text)},
          {"status", name(result.status)},
          {"meaning", meaning(result.status)},
          {"message", printable(result.message, most_text)},
          {"repeat", result.repeat}};
}

Json failing_case(const GradedCase& graded, bool open, bool pictured) {
  Json values = case_values(graded), outputs = Json::array(), figures = Json::array();
  for (const OutputReport& output : graded.result.outputs) {
    outputs.push_back(output_values(output, graded.result.outputs.size() == 1));
  }
  if (pictured) {
    for (const ErrorMap& map : graded.errors) figures.push_back(figure_values(map, graded.result));
  }
  values.update({{"open", open}, {"outputs", outputs}, {"figures", figures}});
  return values;
}

/// Cases in a list, with their number.
Json list_of(std::span<const GradedCase* const> cases) {
  if (cases.empty()) return {};
  Json each = Json::array();
  for (const GradedCase* graded : cases) each.push_back(case_values(*graded));
  return {{"count", counted(cases.size(), "case")}, {"each", each}};
}

/// Cases that fail alike, with nothing to say of each: a function that is missing, a library that
/// cannot be loaded.
Json alike_cases(std::span<const GradedCase* const> cases, bool all) {
  Json values = case_values(*cases.front());
  values.update(list_of(cases));
  values["all"] = all ? "all " : "";
  return values;
}

// ---- One problem, one item

/// The mistakes that explain a problem's wrong numbers, in sentences.
Json diagnosis_of(const GradedItem& item, const std::string& problem) {
  std::vector<std::vector<const Diagnosis*>> groups;  // a sentence each
  for (const Diagnosis& diagnosis : item.diagnoses) {
    if (diagnosis.problem == problem) groups.push_back({&diagnosis});
  }
  const bool undiagnosed = std::ranges::find(item.undiagnosed, problem) != item.undiagnosed.end();
  if (groups.empty() && !undiagnosed) return {};
  const bool same = std::ranges::all_of(groups, [&](const auto& group) {
    return group[0]->agrees == groups[0][0]->agrees && group[0]->of == groups[0][0]->of;
  });
  for (; same && groups.size() > 1; groups.pop_back()) {
    groups[0].insert(groups[0].begin() + 1, groups.back()[0]);
  }
  Json sentences = Json::array();
  for (const auto& group : groups) {
    Json mistakes = Json::array();
    for (std::size_t i = 0; i < group.size(); ++i) {
      mistakes.push_back({{"before", i == 0                  ? ""
                                     : i + 1 == group.size() ? " and "
                                                             : ", "},
                          {"mistake", printable(as_words(group[i]->mistake), most_text)}});
    }
    sentences.push_back({{"mistakes", mistakes},
                         {"plural", group.size() > 1 ? "s" : ""},
                         {"agrees", group[0]->agrees},
                         {"of", group[0]->of},
                         {"noun", group[0]->of == 1 ? "case" : "cases"}});
  }
  const bool shown = std::ranges::any_of(item.cases, [&](const GradedCase& graded) {
    return !graded.hidden && graded.result.problem == problem &&
           graded.result.status == Status::incorrect_numerical;
  });
  return {{"unknown", groups.empty()}, {"shown", shown}, {"sentences", sentences}};
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
  std::vector<const GradedCase*> passed, hidden, failing;
  for (const GradedCase& graded : item.cases) {
    if (graded.result.problem != problem) continue;
    (graded.hidden ? hidden : is_passed(graded) ? passed : failing).push_back(&graded);
  }
  // The smallest first: it is the easiest to follow by hand.
  std::ranges::stable_sort(failing, {}, [](const GradedCase* graded) {
    std::int64_t elements = 0;
    for (const OutputReport& output : graded->result.outputs) elements += output.elements;
    return elements;
  });
  Json parts = Json::array();
  std::size_t pictured = 0;
  bool opened = false;
  for (std::size_t begin = 0; begin < failing.size();) {
    const Result& first = failing[begin]->result;
    const auto is_alike = [&](const GradedCase* other) {
      return other->result.status == first.status && other->result.message == first.message &&
             other->errors.empty() && other->result.outputs.empty();
    };
    std::size_t end = begin;
    while (end < failing.size() && is_alike(failing[end])) ++end;
    if (end > begin + 1) {
      const bool all = end - begin == failing.size() && passed.empty();
      const std::span alike = std::span(failing).subspan(begin, end - begin);
      parts.push_back({{"one", nullptr}, {"alike", alike_cases(alike, all)}});
      begin = end;
      continue;
    }
    const GradedCase& graded = *failing[begin++];
    const bool picture = !graded.errors.empty() && pictured < most_pictured;
    if (picture) ++pictured;
    parts.push_back({{"one", failing_case(graded, !opened, picture)}, {"alike", nullptr}});
    opened = true;
  }
  return {{"problem", titled ? printable(problem, 200) : ""},
          {"diagnosis", diagnosis_of(item, problem)},
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
  Json groups = Json::array(), problems = Json::array();
  for (const GradedGroup& group : item.groups) groups.push_back(group_values(item, group));
  for (const std::string& problem : item.problems) {
    const bool titled = item.problems.size() > 1 || problem != item.name;
    problems.push_back(problem_values(item, problem, titled));
  }
  return {{"number", number},
          {"name", printable(item.name, 200)},
          {"tone", css_class(tone_of(item.earned, item.points))},
          {"heading_tone", item.earned >= item.points ? "good" : "quiet"},
          {"earned", points_text(item.earned)},
          {"points", points_text(item.points)},
          {"of_points", of_points(item.points)},
          {"groups", groups},
          {"problems", problems}};
}

Json texts(const std::vector<std::string>& lines) {
  Json each = Json::array();
  for (const std::string& line : lines) each.push_back(printable(line, most_text));
  return listed(each);
}

}  // namespace

std::string grade_html(const Grading& grading) {
  const double points = sum(grading.items, &GradedItem::points);
  const double earned = sum(grading.items, &GradedItem::earned);
  const double share = points > 0 ? std::clamp(earned / points, 0.0, 1.0) : 0;
  Json items = Json::array(), imports = texts(grading.imports), stopped;
  std::int64_t passed = 0;
  std::size_t cases = 0;
  bool any_hidden = false;
  for (const GradedItem& item : grading.items) {
    items.push_back(item_values(item, items.size() + 1));
    cases += item.cases.size();
    passed += std::ranges::count_if(item.cases, is_passed);
    any_hidden = any_hidden || std::ranges::any_of(item.cases, &GradedCase::hidden);
  }
  if (!imports.is_null()) imports["count"] = counted(grading.imports.size(), "symbol");
  if (grading.status != Status::passed) {
    stopped = {{"status", name(grading.status)},
               {"meaning", meaning(grading.status)},
               {"message", lines_of(grading.message)}};
  }
  return render_page(
      "grade", {{"page_title", printable(grading.submission + ": " + points_text(earned) + " of " +
                                             of_points(points),
                                         200)},
                {"submission", printable(grading.submission, 200)},
                {"kind", printable(grading.kind, 100)},
                {"title", printable(grading.title, 300)},
                {"rubric", printable(grading.rubric, 200)},
                {"earned", points_text(earned)},
                {"points", of_points(points)},
                {"share", fmt::format("{:.1f}", 100 * share)},
                {"stopped", stopped},
                {"passed", passed},
                {"cases", counted(cases, "case")},
                {"sandbox", printable(grading.sandbox, 200)},
                {"time", duration(grading.seconds)},
                {"notes", texts(grading.notes)},
                {"imports", imports},
                {"any_hidden", any_hidden},
                {"items", listed(items)}});
}

}  // namespace prenorm::harness
