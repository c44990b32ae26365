// The page that a student opens: what was earned, what failed, why, and how to see it again.
#include "base/text.hpp"
#include "grade/error_picture.hpp"
#include "grade/page_parts.hpp"
#include "grade/report_parts.hpp"
#include "grade/words.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <span>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_lines = 60;  // of a compiler's message

constexpr std::string_view style = R"(
body { max-width: 64rem; }
.facts, .groups { list-style: none; margin: .6rem 0; padding: 0; }
.groups { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin: 0; }
.groups li { border: 1px solid var(--line); border-radius: .9rem; padding: 0 .6rem; font-size: .9rem; }
.items { width: 100%; } .items td, .items th { vertical-align: top; } .items th:first-child { min-width: 17rem; }
.says { border-left: .3rem solid #b7791f; background: var(--plate); padding: .5rem .9rem;
  margin: .8rem 0; max-width: 46rem; } .says p { margin: .2rem 0; } .says em { font-weight: 600; }
.stop { border-left-color: var(--bad); }
details { margin: .5rem 0; } summary { cursor: pointer; padding: .25rem 0; }
.case { border: 1px solid var(--line); border-radius: .5rem; padding: .2rem .9rem; }
.case[open] { padding-bottom: .8rem; } .case > summary > b { margin: 0 .2rem; }
.values { margin: .4rem 0; } .values th { font-weight: 400; opacity: .75; min-width: 7rem; }
.values td, .values th { border: 0; padding: .1rem 1.2rem .1rem 0; vertical-align: top; }
.figures { display: flex; flex-wrap: wrap; gap: .8rem 2rem; align-items: flex-start; }
.plain { columns: 18rem; padding-left: 1.2rem; margin: .3rem 0; font-size: .9rem; }
pre { background: var(--plate); padding: .6rem .8rem; border-radius: .3rem; white-space: pre-wrap;
  font-size: .85rem; max-height: 30rem; overflow: auto; }
.command { display: block; margin: .4rem 0; padding: .4rem .6rem; user-select: all; font-size: .85rem; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } .items thead { display: none; } .items tr { display: block;
  border-bottom: 1px solid var(--line); padding: .4rem 0; } .items td, .items th { display: inline-block;
  border: 0; padding: .1rem .6rem .1rem 0; } .items td:last-child { display: block; }
  .values tr, .values th, .values td { display: block; } .values td { padding-bottom: .3rem; }
  .score { font-size: 2.4rem; }
}
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; } .case { break-inside: avoid; }
  .case::details-content { content-visibility: visible; height: auto; }
  pre { max-height: none; }
}
)";

std::string counted_cases(std::size_t count) { return counted(count, "case"); }

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

/// "halves instead of neighbours", in the words that the mistake's name has.
std::string mistake_text(const std::string& mistake) {
  return "<em>" + outside(as_words(mistake)) + "</em>";
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

/// Lines of a message as they were written, safe each for itself.
std::string lines_of(std::string_view message) {
  std::string text = "<pre>";
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin <= message.size(); ++lines) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    if (lines == most_lines) return text + "...</pre>\n";
    text += escaped(message.substr(begin, end - begin), 500) + "\n";
    begin = end + 1;
  }
  return text + "</pre>\n";
}

// ---- One failing case

void add_value(std::string& rows, std::string_view what, const std::string& html) {
  rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", what, html);
}

/// What is known of one output that was compared: how many miss, and the worst.
std::string output_rows(const OutputReport& output) {
  std::string rows;
  const double share = output.elements > 0 ? 100.0 * static_cast<double>(output.mismatches) /
                                                 static_cast<double>(output.elements)
                                           : 0;
  add_value(rows, outside(output.name, 100) + " misses",
            fmt::format("{} of {} elements ({:.3g} %)", output.mismatches, output.elements, share));
  if (output.worst_actual && output.worst_expected) {
    const double actual = *output.worst_actual, expected = *output.worst_expected;
    const auto [got, wanted] = told_apart(actual, expected);
    add_value(rows, "worst element",
              "<code>" + outside(index_text(output.name, output.worst_index)) + "</code>");
    add_value(rows, "actual", "<code>" + got + "</code>");
    add_value(rows, "expected", "<code>" + wanted + "</code>");
    const double bound = output.atol + output.rtol * std::abs(expected);
    std::string allowed =
        bound > 0 ? fmt::format("<code>{}</code> = {} + {} · |expected|", short_number(bound),
                                short_number(output.atol), short_number(output.rtol))
                  : std::string("0: it must be exact");
    const double error = std::abs(actual - expected);
    if (std::isfinite(error)) {
      std::string off = "<code>" + short_number(error) + "</code>";
      if (bound > 0) off += ", " + short_number(error / bound) + " times the bound";
      add_value(rows, "error", off);
    }
    if (std::isfinite(bound)) add_value(rows, "bound", allowed);
  }
  std::string largest;
  const auto add = [&](const std::optional<double>& value, std::string_view what) {
    if (value) largest += (largest.empty() ? "" : ", ") + short_number(*value) + std::string(what);
  };
  add(output.max_abs_error, " absolute");
  add(output.max_rel_error, " relative");
  add(output.max_ulp_error, " units in the last place");
  if (!largest.empty()) add_value(rows, "largest errors", largest);
  return rows;
}

const OutputReport* report_of(const Result& result, const std::string& tensor) {
  const auto found = std::ranges::find(result.outputs, tensor, &OutputReport::name);
  return found == result.outputs.end() ? nullptr : &*found;
}

std::string figures(const GradedCase& graded) {
  std::string text;
  for (const ErrorMap& map : graded.errors) {
    const OutputReport* report = report_of(graded.result, map.tensor);
    const std::string where = heat_map(map, report);
    const std::string how_far = histogram(map, report);
    std::int64_t elements = 1;
    for (const std::int64_t extent : map.shape) elements *= extent;
    const bool one_each = map.rows * map.columns == elements;
    text += "<div class=\"figures\">\n";
    if (!where.empty()) {
      text += fmt::format(
          "<figure>{}<figcaption><b>Where</b> {} is wrong: the last axis to the right, the others "
          "downwards{}. The ring is at the worst element{}.</figcaption></figure>\n",
          where, outside(index_text(map.tensor, map.shape), 200),
          one_each ? "" : ", each cell its worst element",
          std::ranges::any_of(map.cells, [](double r) { return !std::isfinite(r); })
              ? "; crosses are not finite, or differ where they must be exact"
              : "");
    }
    if (!how_far.empty()) {
      text += "<figure>" + how_far +
              "<figcaption><b>How far off</b>: elements by their error. Left of the dashed line "
              "they pass; the colours are those of the map.</figcaption></figure>\n";
    }
    text += "</div>\n";
  }
  return text;
}

std::string case_title(const Result& result) { return result.case_name.value_or(result.fixture); }

std::string failing_case(const GradedCase& graded, bool open, bool pictured) {
  const Result& result = graded.result;
  std::string misses;
  for (const OutputReport& output : result.outputs) {
    if (output.mismatches == 0) continue;
    misses += fmt::format(", {} of {} elements miss", output.mismatches, output.elements);
  }
  std::string text = fmt::format(
      "<details class=\"case\"{}>\n<summary><span class=\"bad\">{}</span> <b>{}</b> "
      "<span class=\"quiet\">{}{}</span></summary>\n",
      open ? " open" : "", name(result.status), outside(case_title(result), 200),
      escaped(result.dtype, 50), misses);
  text += fmt::format("<p>{}", meaning(result.status));
  if (!result.message.empty()) text += " " + outside(result.message);
  text += "</p>\n<table class=\"values\">\n";
  std::string rows;
  if (!graded.shapes.empty()) {
    add_value(rows, "shapes", "<code>" + outside(graded.shapes) + "</code>");
  }
  for (const OutputReport& output : result.outputs) {
    if (output.mismatches > 0 || result.outputs.size() == 1) rows += output_rows(output);
  }
  text += rows + "</table>\n";
  if (pictured) text += figures(graded);
  if (!result.repeat.empty()) {
    text += "<p class=\"quiet\">Run just this case again:</p><code class=\"command\">" +
            escaped(result.repeat) + "</code>\n";
  }
  return text + "</details>\n";
}

/// Cases that fail alike, with nothing to say of each: a function that is missing, a library that
/// cannot be loaded.
std::string alike_cases(std::span<const GradedCase* const> cases, bool all) {
  const Result& first = cases.front()->result;
  std::string text = fmt::format(
      "<details class=\"case\">\n<summary><span "
      "class=\"bad\">{}</span> <b>{}{}</b></summary>\n<p>{} "
      "{}</p>\n<ul class=\"plain\">\n",
      name(first.status), all && cases.size() > 1 ? "all " : "", counted_cases(cases.size()),
      meaning(first.status), outside(first.message));
  for (const GradedCase* graded : cases) {
    text += fmt::format("<li>{} <span class=\"quiet\">{} {}</span></li>\n",
                        outside(case_title(graded->result), 200), escaped(graded->result.dtype, 50),
                        outside(graded->shapes));
  }
  text += "</ul>\n";
  if (!first.repeat.empty()) {
    text += "<p class=\"quiet\">Run the first of them again:</p><code class=\"command\">" +
            escaped(first.repeat) + "</code>\n";
  }
  return text + "</details>\n";
}

// ---- One problem, one item

/// The mistakes that explain a problem's wrong numbers, in a sentence.
std::string diagnosis_of(const GradedItem& item, const std::string& problem) {
  std::vector<const Diagnosis*> found;
  for (const Diagnosis& diagnosis : item.diagnoses) {
    if (diagnosis.problem == problem) found.push_back(&diagnosis);
  }
  const bool undiagnosed = std::ranges::find(item.undiagnosed, problem) != item.undiagnosed.end();
  if (found.empty() && !undiagnosed) return {};
  if (found.empty()) {
    const bool shown = std::ranges::any_of(item.cases, [&](const GradedCase& graded) {
      return !graded.hidden && graded.result.problem == problem &&
             graded.result.status == Status::incorrect_numerical;
    });
    return std::string("<div class=\"says\"><p>This looks like no known mistake. ") +
           (shown ? "The worst elements and the maps below show where to look; the smallest case "
                    "comes first."
                  : "Only hidden cases are wrong: other values or other sizes than those that you "
                    "can see.") +
           "</p></div>\n";
  }
  std::string names;
  for (std::size_t i = 0; i < found.size(); ++i) {
    names += (i == 0                  ? ""
              : i + 1 == found.size() ? " and "
                                      : ", ") +
             mistake_text(found[i]->mistake);
  }
  const Diagnosis& first = *found.front();
  const bool same = std::ranges::all_of(found, [&](const Diagnosis* each) {
    return each->agrees == first.agrees && each->of == first.of;
  });
  std::string text = "<div class=\"says\">";
  if (same) {
    text +=
        fmt::format("<p>The outputs agree with the known mistake{} {} on {} of {} failing {}.</p>",
                    found.size() > 1 ? "s" : "", names, first.agrees, first.of,
                    first.of == 1 ? "case" : "cases");
    if (found.size() > 1) text += "<p>On these cases they give the same numbers.</p>";
  } else {
    for (const Diagnosis* each : found) {
      text += fmt::format(
          "<p>The outputs agree with the known mistake {} on {} of {} failing {}.</p>",
          mistake_text(each->mistake), each->agrees, each->of, each->of == 1 ? "case" : "cases");
    }
  }
  return text + "</div>\n";
}

std::string passed_list(const std::vector<const GradedCase*>& cases) {
  if (cases.empty()) return {};
  std::string text = fmt::format(
      "<details><summary><span class=\"good\">✓</span> {} passed</summary>\n<ul class=\"plain\">\n",
      counted_cases(cases.size()));
  for (const GradedCase* graded : cases) {
    text += fmt::format("<li>{} <span class=\"quiet\">{} {}</span></li>\n",
                        outside(case_title(graded->result), 200), escaped(graded->result.dtype, 50),
                        outside(graded->shapes));
  }
  return text + "</ul></details>\n";
}

/// Nothing of a hidden case but its status.
std::string hidden_line(const std::vector<const GradedCase*>& cases) {
  if (cases.empty()) return {};
  std::map<std::string_view, std::size_t> failed;
  std::size_t passed = 0;
  for (const GradedCase* graded : cases) {
    if (is_passed(*graded)) {
      ++passed;
    } else {
      ++failed[name(graded->result.status)];
    }
  }
  std::string text =
      fmt::format("<p>{} {} of {} passed",
                  cases.size() == 1 ? "Hidden case:" : "Hidden cases:", passed, cases.size());
  for (const auto& [status, count] : failed) {
    text += fmt::format(", {} <span class=\"bad\">{}</span>", count, status);
  }
  return text + ".</p>\n";
}

std::string problem_section(const GradedItem& item, const std::string& problem, bool titled) {
  std::vector<const GradedCase*> passed, hidden, failing;
  for (const GradedCase& graded : item.cases) {
    if (graded.result.problem != problem) continue;
    (graded.hidden ? hidden : is_passed(graded) ? passed : failing).push_back(&graded);
  }
  std::string text = titled ? "<h3>" + outside(problem, 200) + "</h3>\n" : "";
  text += diagnosis_of(item, problem);
  // The smallest first: it is the easiest to follow by hand.
  std::ranges::stable_sort(failing, {}, [](const GradedCase* graded) {
    std::int64_t elements = 0;
    for (const OutputReport& output : graded->result.outputs) elements += output.elements;
    return elements;
  });
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
      const std::span alike(failing.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
      text += alike_cases(alike, alike.size() == failing.size() && passed.empty());
      begin = end;
      continue;
    }
    const GradedCase& graded = *failing[begin++];
    const bool picture = !graded.errors.empty() && pictured < most_pictured;
    if (picture) ++pictured;
    text += failing_case(graded, !opened, picture);
    opened = true;
  }
  text += passed_list(passed);
  return text + hidden_line(hidden);
}

std::string anchor(std::size_t item) { return "item-" + std::to_string(item + 1); }

/// "✓ float32 12/12", with what the group is worth and whether it is hidden.
std::string group_chip(const GradedItem& item, const GradedGroup& group) {
  const std::string part = item.groups.size() > 1 ? ", " + of_points(worth(item, group)) : "";
  const bool say_hidden = group.hidden && !group.name.starts_with("hidden");
  return fmt::format(
      "<li><span class=\"{}\">{}</span> {}{} {}/{}<span class=\"quiet\">{}</span></li>",
      group.earned ? "good" : "bad", group.earned ? "✓ earned" : "✗", outside(group.name, 100),
      say_hidden ? " (hidden)" : "", group.passed, group.total, part);
}

std::string items_table(const Grading& grading) {
  std::string text =
      "<table class=\"items\">\n<thead><tr><th scope=\"col\">problem</th>"
      "<th scope=\"col\" class=\"number\">points</th><th scope=\"col\">groups of cases</th></tr>"
      "</thead>\n<tbody>\n";
  for (std::size_t i = 0; i < grading.items.size(); ++i) {
    const GradedItem& item = grading.items[i];
    text += fmt::format(
        "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td class=\"number {}\">{} of {}</td>"
        "<td><ul class=\"groups\">",
        anchor(i), outside(item.name, 200),
        item.earned >= item.points ? "good"
        : item.earned > 0          ? ""
                                   : "bad",
        points_text(item.earned), points_text(item.points));
    for (const GradedGroup& group : item.groups) text += group_chip(item, group);
    text += "</ul></td></tr>\n";
  }
  return text + "</tbody>\n</table>\n";
}

std::string item_section(const GradedItem& item, std::size_t number) {
  std::string text = fmt::format(
      "<section id=\"{}\">\n<h2>{} <small class=\"{}\">{} of {}</small></h2>\n", anchor(number),
      outside(item.name, 200), item.earned >= item.points ? "good" : "quiet",
      points_text(item.earned), of_points(item.points));
  const std::vector<std::string>& problems = item.problems;
  for (const std::string& problem : problems) {
    text += problem_section(item, problem, problems.size() > 1 || problem != item.name);
  }
  return text + "</section>\n";
}

std::string list_of(const std::vector<std::string>& texts, std::string_view css_class) {
  if (texts.empty()) return {};
  std::string text = fmt::format("<ul class=\"{}\">\n", css_class);
  for (const std::string& each : texts) text += "<li>" + outside(each) + "</li>\n";
  return text + "</ul>\n";
}

std::string head(const Grading& grading) {
  const double points = sum(grading.items, &GradedItem::points);
  const double earned = sum(grading.items, &GradedItem::earned);
  std::string text = fmt::format("<header>\n<h1>{} <small class=\"quiet\">{}</small></h1>\n",
                                 outside(grading.submission, 200), outside(grading.kind, 100));
  text += fmt::format("<p>{} <span class=\"quiet\">({})</span></p>\n", outside(grading.title, 300),
                      outside(grading.rubric, 200));
  text += fmt::format("<p class=\"score\">{} <small>of {}</small></p>\n", points_text(earned),
                      of_points(points));
  const double share = points > 0 ? std::clamp(earned / points, 0.0, 1.0) : 0;
  text +=
      fmt::format("<div class=\"bar\" aria-hidden=\"true\"><i style=\"width:{:.1f}%\"></i></div>\n",
                  100 * share);
  if (grading.status != Status::passed) {
    text +=
        fmt::format("<div class=\"says stop\"><p><span class=\"bad\">{}</span> {}</p>{}</div>\n",
                    name(grading.status), meaning(grading.status), lines_of(grading.message));
  }
  std::size_t passed = 0, cases = 0;
  for (const GradedItem& item : grading.items) {
    cases += item.cases.size();
    passed += static_cast<std::size_t>(std::ranges::count_if(item.cases, is_passed));
  }
  text += fmt::format("<p class=\"quiet\">{} of {} passed. Kept apart by: {}. Graded in {}.</p>\n",
                      passed, counted_cases(cases), outside(grading.sandbox, 200),
                      duration(grading.seconds));
  text += list_of(grading.notes, "facts");
  if (!grading.imports.empty()) {
    text += fmt::format("<details><summary>{} taken from elsewhere</summary>\n",
                        counted(grading.imports.size(), "symbol")) +
            list_of(grading.imports, "plain") + "</details>\n";
  }
  return text + "</header>\n";
}

}  // namespace

std::string grade_html(const Grading& grading) {
  std::string body = picture_definitions() + head(grading) + "<main>\n";
  if (!grading.items.empty()) {
    body += items_table(grading);
    body += "<p class=\"quiet\">A group earns its points when all of its cases pass.";
    const bool any_hidden = std::ranges::any_of(grading.items, [](const GradedItem& item) {
      return std::ranges::any_of(item.groups, &GradedGroup::hidden) ||
             std::ranges::any_of(item.cases, &GradedCase::hidden);
    });
    if (any_hidden) {
      body += " Hidden cases have other values and sizes; only how they end is told.";
    }
    body += "</p>\n";
  }
  for (std::size_t i = 0; i < grading.items.size(); ++i) body += item_section(grading.items[i], i);
  return html_page(grading.submission + ": " +
                       points_text(sum(grading.items, &GradedItem::earned)) + " of " +
                       of_points(sum(grading.items, &GradedItem::points)),
                   std::string(grade_style()).append(style) + picture_style(), body + "</main>\n");
}

}  // namespace prenorm::harness
