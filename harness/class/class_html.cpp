// The page of a class that a teacher opens: how it went, what went wrong, and everybody's points.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "class/class_overview.hpp"
#include "grade/page_parts.hpp"
#include "grade/words.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <set>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_upright = 6;   // items whose names stand level above their columns
constexpr std::size_t few_mistakes = 6;   // in all: they stand below the histogram
constexpr std::size_t most_mistakes = 5;  // of a problem that are told; the others are counted

constexpr std::string_view style = R"(
:root { --bars: #5495c8; --zebra: #f3f4f6; --touched: #e3ecf5; --mark: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --bars: #4a90c8; --zebra: #1f2023; --touched: #26323f; --mark: #e5b455; }
}
body { max-width: 90rem; } h1 small { display: block; font-size: 1rem; }
.facts { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: 1.2rem 0; }
.facts dt { font-size: .9rem; opacity: .75; }
.facts dd { margin: 0; font-size: 1.9rem; line-height: 1.2; font-weight: 700; }
.facts small { font-size: 1rem; font-weight: 400; }
.summary { display: grid; grid-template: "points passed" auto "mistakes passed" 1fr / 1fr 1fr;
  gap: 0 3rem; } .summary > * { min-width: 0; } .summary h2 { margin-top: 1.6rem; }
.summary.long { grid-template: "points mistakes" auto "passed mistakes" 1fr / 1fr 1fr; }
.points-area { grid-area: points; } .passed-area { grid-area: passed; }
.mistakes-area { grid-area: mistakes; }
.whole { break-inside: avoid; }
.points rect { fill: var(--bars); } .points text { font-size: 13px; }
.points .mean, .points .median { stroke: currentColor; stroke-width: 2; }
.points .median { stroke-dasharray: 5 4; }
.shares { width: 100%; } .shares tr > * { border: 0; padding-top: .15rem; padding-bottom: .15rem; }
.shares th { font-weight: 400; width: 40%; } .shares td:last-child { padding-right: 0; width: 1%; }
.mistakes { width: 100%; } .mistakes thead th { font-weight: 400; opacity: .7; }
.mistakes tr > :last-child { padding-right: 0; }
.mistakes tbody tr > * { border: 0; padding-top: .1rem; padding-bottom: .1rem; }
.mistakes tbody th { padding-top: .6rem; font-weight: 600; }
.mistakes td:first-child { padding-left: 1rem; }
.students { overflow: auto; max-height: 90vh; width: fit-content; max-width: 100%;
  box-sizing: border-box; border: 1px solid var(--line); border-radius: .4rem; }
.students table { border-collapse: separate; border-spacing: 0; font-size: .9rem;
  line-height: 1.35; }
.students tr > * { padding: .3rem .6rem; background: Canvas; vertical-align: top; }
.students tbody tr:last-child > * { border-bottom: 0; }
.students tbody tr:nth-child(even) > * { background: var(--zebra); }
.students tbody tr:hover > * { background: var(--touched); }
.students thead th { position: sticky; top: 0; z-index: 1; vertical-align: bottom;
  border-bottom: 2px solid var(--line); }
.students th:first-child { position: sticky; left: 0; z-index: 1; text-align: left;
  border-right: 1px solid var(--line); }
.students thead th:first-child { z-index: 2; white-space: nowrap; }
.students tbody th { font-weight: 600; } .students small { display: block; font-weight: 400; }
.who, .flags, .item { width: max-content; max-width: 14rem; }
.students .number .item { margin-left: auto; white-space: normal; max-width: 8rem; }
.students .many .number { padding: .3rem .35rem; }
.students .many .item { writing-mode: vertical-rl; transform: rotate(180deg); max-width: none;
  max-height: 13rem; text-align: left; margin-bottom: .3rem; }
.students .total { font-weight: 700; }
.flags { list-style: none; margin: 0; padding: 0; max-width: 18rem; }
.many .who { max-width: 12rem; } .many .flags { max-width: 10rem; }
.hand { color: var(--mark); font-weight: 700; border-bottom: 2px dotted; cursor: help; }
.by-hand li { margin: .2rem 0; }
@media (max-width: 60rem) { .summary, .summary.long { display: block; } }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } .who, .many .who { max-width: 8rem; } .facts dd { font-size: 1.5rem; }
  .students tr > * { padding: .3rem .45rem; }
  .shares tr { display: grid; grid-template-columns: 1fr auto; align-items: center; }
  .shares th { grid-column: 1 / 3; width: auto; padding-bottom: 0; } .shares td { width: auto; }
}
@page wide { size: landscape; margin: 10mm; }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; } .by-students { page: wide; }
  .students { overflow: visible; max-height: none; border: 0; } .students table { font-size: 7pt; }
  .students thead th, .students th:first-child { position: static; }
  .students tr > *, .students .many .number { padding: .15rem .3rem; print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
}
)";

/// A name of the rubric or of a file, which may break where an underscore stands.
std::string breakable(std::string_view text, std::size_t limit = 100) {
  std::string broken;
  for (const char c : escaped(text, limit)) {
    broken += c;
    if (c == '_') broken += "<wbr>";
  }
  return "<bdi>" + broken + "</bdi>";
}

bool from_roster(const OverviewRow& row) {
  return !row.name.empty() || !row.id.empty() || !row.email.empty();
}

/// "student" where a roster says who they are, else "submission".
std::string_view noun(const Overview& overview) {
  return std::ranges::any_of(overview.rows, from_roster) ? "student" : "submission";
}

std::string counted_rows(std::int64_t count, const Overview& overview) {
  return counted(static_cast<std::size_t>(count), noun(overview));
}

const std::string& called(const OverviewRow& row) {
  return row.name.empty() ? row.submission : row.name;
}

// ---- How it went

std::string fact(std::string_view what, const std::string& figure) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", what, figure);
}

std::string head(const Overview& overview) {
  const bool roster = std::ranges::any_of(overview.rows, from_roster);
  const auto total = std::ssize(overview.rows);
  const auto graded = std::ranges::count_if(overview.rows, &OverviewRow::graded);
  const auto nothing = std::ranges::count_if(overview.rows, handed_nothing_in);
  std::string text = fmt::format(
      "<header>\n<h1>{} <small class=\"quiet\">rubric {}, gradebook {}</small></h1>\n"
      "<dl class=\"facts\">\n",
      outside(overview.title.empty() ? overview.rubric : overview.title, 300),
      outside(overview.rubric, 200), outside(overview.gradebook, 200));
  if (roster) text += fact("students", std::to_string(total));
  text += fact("submissions", std::to_string(total - nothing));
  text += fact("graded", std::to_string(graded));
  text += fact("not graded", std::to_string(total - nothing - graded));
  if (graded > 0) {
    const std::string of = " <small>of " + of_points(overview.points) + "</small>";
    text += fact("mean", points_text(overview.mean) + of);
    text += fact("median", points_text(overview.median) + of);
  }
  text += "</dl>\n";
  const auto others = std::ranges::count_if(overview.rows, std::not_fn(from_roster));
  if (roster && others > 0) {
    text += fmt::format("<p>{} in no roster: {} at the end of the table.</p>\n",
                        others == 1 ? "1 submission is" : fmt::format("{} submissions are", others),
                        others == 1 ? "it stands" : "they stand");
  }
  return text + "</header>\n";
}

// ---- The histogram of points

/// The picture's inner rectangle.
constexpr double left = 52, top = 48, width = 360, height = 170, base = top + height;

/// Where the lines of a scale for counts stand: every 1, 2 or 5 times a power of ten, at most five
/// above zero.
std::int64_t step_for(std::int64_t most) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t step : {power, 2 * power, 5 * power}) {
      if (most <= 5 * step) return step;
    }
  }
}

/// Where things stand in the picture of one class.
struct Scales {
  explicit Scales(const Overview& overview)
      : points(overview.points),
        bins(overview.histogram.size()),
        bin(width / static_cast<double>(bins)) {
    const std::int64_t most = std::ranges::max(overview.histogram);
    step = step_for(most);
    highest = (most + step - 1) / step * step;
  }

  double x(double of_points) const { return left + width * std::clamp(of_points / points, 0., 1.); }
  double x_of_bin(std::size_t k) const { return left + bin * static_cast<double>(k); }
  double y(std::int64_t count) const {
    return base - height * static_cast<double>(count) / static_cast<double>(highest);
  }
  /// The points at which bin k begins, as text.
  std::string edge(std::size_t k) const {
    return points_text(points * static_cast<double>(k) / static_cast<double>(bins));
  }

  double points;
  std::size_t bins;
  double bin;  // its width
  std::int64_t step = 1, highest = 1;
};

std::string axes(const Overview& overview, const Scales& scales) {
  constexpr std::string_view middle = "text-anchor=\"middle\"", end = "text-anchor=\"end\"";
  std::string text;
  for (std::int64_t count = scales.step; count <= scales.highest; count += scales.step) {
    const double y = scales.y(count);
    text += fmt::format("<path class=\"grid\" d=\"M{:g} {:g}h{:g}\"/>", left, y, width);
    text += svg_label(left - 6, y + 4, std::to_string(count), end);
  }
  text += fmt::format("<path class=\"axis\" d=\"M{:g} {:g}h{:g}\"/>", left, base, width);
  std::size_t longest = 0;
  for (std::size_t k = 0; k <= scales.bins; ++k) {
    longest = std::max(longest, scales.edge(k).size());
  }
  for (std::size_t k = 0; k <= scales.bins; k += longest > 3 ? 2 : 1) {
    const double x = scales.x_of_bin(k);
    text += fmt::format("<path class=\"axis\" d=\"M{:g} {:g}v4\"/>", x, base);
    text += svg_label(x, base + 18, scales.edge(k), middle);
  }
  text += svg_label(left + width / 2, base + 37, "points", middle);
  return text + svg_label(0, 0, fmt::format("{}s", noun(overview)),
                          fmt::format("{} transform=\"translate(13 {:g}) rotate(-90)\"", middle,
                                      top + height / 2));
}

/// With the count above each, and in words where the mouse is.
std::string bars(const Overview& overview, const Scales& scales) {
  std::string text;
  for (std::size_t k = 0; k < scales.bins; ++k) {
    const std::int64_t count = overview.histogram[k];
    if (count < 1) continue;
    const double x = scales.x_of_bin(k), y = scales.y(count);
    text += fmt::format(
        "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"><title>{}: {} {} {} points"
        "</title></rect>\n",
        x + 1.5, y, scales.bin - 3, base - y, counted_rows(count, overview), scales.edge(k),
        k + 1 == scales.bins ? "to" : "to under", scales.edge(k + 1));
    text += svg_label(x + scales.bin / 2, y - 4, std::to_string(count), "text-anchor=\"middle\"");
  }
  return text;
}

/// A mean or a median in the histogram.
struct Landmark {
  std::string kind, text;  // of CSS; what stands beside its line
  double x = 0;
  bool left = false, upper = false;  // where the text stands
};

/// Texts stand away from each other. One that has no room there stands on the other side of its
/// line, above the other text.
std::vector<Landmark> landmarks(const Overview& overview, const Scales& scales) {
  const std::string mean = points_text(overview.mean), median = points_text(overview.median);
  std::vector<Landmark> marks;
  if (mean == median) {
    marks = {{"mean", "mean and median " + mean, scales.x(overview.mean)}};
  } else {
    marks = {{"mean", "mean " + mean, scales.x(overview.mean)},
             {"median", "median " + median, scales.x(overview.median)}};
    std::ranges::stable_sort(marks, {}, &Landmark::x);
    marks.front().left = true;
  }
  for (Landmark& mark : marks) {
    const double wide = 10 + 7.5 * static_cast<double>(mark.text.size());
    if (mark.left ? mark.x - wide >= left : mark.x + wide <= left + width) continue;
    mark.left = !mark.left;
    mark.upper = true;
  }
  return marks;
}

/// Lines from their texts down to the axis, with a gap where a bar's count stands.
std::string landmark_lines(const Overview& overview, const Scales& scales) {
  std::string text;
  for (const Landmark& mark : landmarks(overview, scales)) {
    const double y = mark.upper ? 12 : 28;
    text += fmt::format("<path class=\"{}\" d=\"M{:g} {:g}", mark.kind, mark.x, y - 10);
    for (std::size_t k = 0; k < scales.bins; ++k) {
      const std::int64_t count = overview.histogram[k];
      const double middle = scales.x_of_bin(k) + scales.bin / 2;
      const double half = 3 + 4 * static_cast<double>(std::to_string(count).size());
      if (count < 1 || std::abs(mark.x - middle) > half) continue;
      text += fmt::format("V{:g}M{:g} {:g}", scales.y(count) - 17, mark.x, scales.y(count));
    }
    text += fmt::format("V{:g}\"/>", base);
    text += svg_label(mark.x + (mark.left ? -6 : 6), y, mark.text,
                      mark.left ? "text-anchor=\"end\"" : "");
  }
  return text;
}

std::string histogram(const Overview& overview) {
  const Scales scales(overview);
  return fmt::format(
             "<svg class=\"points\" role=\"img\" aria-label=\"Histogram: how many {}s got how many "
             "points\" width=\"{:g}\" height=\"{:g}\" viewBox=\"0 0 {:g} {:g}\">\n",
             noun(overview), left + width + 22, base + 44, left + width + 22, base + 44) +
         axes(overview, scales) + bars(overview, scales) + landmark_lines(overview, scales) +
         "</svg>\n";
}

std::string points_section(const Overview& overview) {
  std::string text = "<section class=\"points-area whole\">\n<h2>Points</h2>\n";
  const bool any = std::ranges::any_of(overview.histogram, [](auto count) { return count > 0; });
  if (!any) return text + "<p>Nothing is graded yet.</p>\n</section>\n";
  if (!(overview.points > 0)) return text + "<p>The rubric has no points.</p>\n</section>\n";
  return text + "<figure>" + histogram(overview) +
         "<figcaption class=\"quiet\">Full marks are in the last bar.</figcaption></figure>\n"
         "</section>\n";
}

// ---- Problems and mistakes

std::string problems_section(const Overview& overview) {
  const auto is_graded = [](const OverviewProblem& problem) { return problem.total > 0; };
  if (std::ranges::none_of(overview.problems, is_graded)) return {};
  std::string text =
      "<section class=\"passed-area\">\n<h2>Passed</h2>\n<p class=\"quiet\">Submissions with every "
      "case of a problem "
      "right, of all that were graded.</p>\n<table class=\"shares\">\n<tbody>\n";
  for (const OverviewProblem& problem : overview.problems) {
    const bool any = is_graded(problem);
    const double share =
        any ? 100 * static_cast<double>(problem.passed) / static_cast<double>(problem.total) : 0;
    text += fmt::format(
        "<tr class=\"whole\"><th scope=\"row\">{}</th><td><div class=\"bar\" aria-hidden=\"true\">"
        "<i style=\"width:{:.1f}%\"></i></div></td><td class=\"number\">{}</td></tr>\n",
        breakable(problem.problem), std::clamp(share, 0.0, 100.0),
        any ? fmt::format("{} of {}, <b>{}</b>", problem.passed, problem.total,
                          per_cent(problem.passed, problem.total))
            : "none graded");
  }
  return text + "</tbody>\n</table>\n</section>\n";
}

/// A group of rows for each problem, the one with the commonest mistake first.
std::string mistakes_section(const Overview& overview) {
  if (overview.mistakes.empty()) return {};
  std::string text =
      "<section class=\"mistakes-area\">\n<h2>Known mistakes</h2>\n<p class=\"quiet\">Submissions "
      "whose wrong numbers are "
      "those of a known mistake. Several count where they give the same numbers.</p>\n"
      "<table class=\"mistakes\">\n<thead><tr>"
      "<th scope=\"col\">mistake</th><th scope=\"col\" class=\"number\">submissions</th></tr>"
      "</thead>\n";
  std::set<std::string> told;
  for (const OverviewMistake& first : overview.mistakes) {
    const std::string& problem = first.problem;
    if (!told.insert(problem).second) continue;
    std::vector<std::string> rows;
    for (const OverviewMistake& mistake : overview.mistakes) {
      if (mistake.problem != problem) continue;
      rows.push_back(fmt::format("<tr><td>{}</td><td class=\"number\">{}</td></tr>\n",
                                 outside(as_words(mistake.mistake), 200), mistake.submissions));
    }
    if (rows.size() > most_mistakes + 1) {
      const std::size_t others = rows.size() - most_mistakes;
      rows.resize(most_mistakes);
      rows.push_back(
          fmt::format("<tr><td class=\"quiet\" colspan=\"2\">and {} others</td></tr>\n", others));
    }
    text += "<tbody class=\"whole\">\n<tr><th scope=\"rowgroup\" colspan=\"2\">" +
            breakable(problem) + "</th></tr>\n";
    for (const std::string& row : rows) text += row;
    text += "</tbody>\n";
  }
  return text + "</table>\n</section>\n";
}

// ---- Everybody's points

std::string hand_text(const OverviewPoints& points) {
  return fmt::format("set by hand to {}, graded {}", points_text(points.earned),
                     points_text(points.graded));
}

std::string points_cell(const OverviewRow& row, const OverviewItem& item, std::size_t number) {
  const OverviewPoints none;
  const OverviewPoints& points = number < row.points.size() ? row.points[number] : none;
  if (points.set_by_hand) {
    return fmt::format("<td class=\"number\"><span class=\"hand\" title=\"{}: {}\">{}*</span></td>",
                       hand_text(points), escaped(points.why, 500), points_text(points.earned));
  }
  if (!row.graded) return "<td class=\"number\"><span class=\"quiet\">–</span></td>";
  return fmt::format("<td class=\"number {}\">{}</td>",
                     points.earned >= item.points ? "good"
                     : points.earned > 0          ? ""
                                                  : "bad",
                     points_text(points.earned));
}

std::string flags_cell(const OverviewRow& row) {
  if (row.flags.empty()) return "<td></td>";
  std::string text = "<td><ul class=\"flags\">";
  for (const std::string& flag : row.flags) text += "<li>" + outside(flag, 200) + "</li>";
  return text + "</ul></td>";
}

/// The name, and below it what else tells who it is.
std::string who(const OverviewRow& row) {
  std::string text = "<div class=\"who\">" + outside(called(row), 100);
  std::string more;
  const auto add = [&](const std::string& each) {
    if (!each.empty() && each != called(row)) {
      more += (more.empty() ? "" : " · ") + outside(each, 60);
    }
  };
  add(row.id);
  add(row.submission);
  if (!more.empty()) text += "<small class=\"quiet\">" + more + "</small>";
  return text + "</div>";
}

std::string student_row(const Overview& overview, const OverviewRow& row) {
  std::string text = "<tr><th scope=\"row\">" + who(row) + "</th>";
  for (std::size_t i = 0; i < overview.items.size(); ++i) {
    text += points_cell(row, overview.items[i], i);
  }
  const bool counts = row.graded || std::ranges::any_of(row.points, &OverviewPoints::set_by_hand);
  text += fmt::format(
      "<td class=\"number total\" title=\"cases: {} passed, {} failed, {} skipped\">{}</td>",
      row.passed, row.failed, row.skipped, counts ? points_text(row.total) : "–");
  return text + flags_cell(row) + "</tr>\n";
}

/// The same reasons that the table has, to be read on paper and without a mouse.
std::string hand_list(const Overview& overview) {
  std::string text;
  for (const OverviewRow& row : overview.rows) {
    for (std::size_t i = 0; i < std::min(row.points.size(), overview.items.size()); ++i) {
      if (!row.points[i].set_by_hand) continue;
      text += fmt::format("<li><b>{}</b>, {}: {}: {}</li>\n", outside(called(row), 100),
                          breakable(overview.items[i].name), hand_text(row.points[i]),
                          outside(row.points[i].why, 500));
    }
  }
  if (text.empty()) return {};
  return "<h3><span class=\"hand\">*</span> Set by hand</h3>\n<ul class=\"by-hand\">\n" + text +
         "</ul>\n";
}

std::string students_section(const Overview& overview) {
  if (overview.rows.empty()) return "<p>There is no submission in the gradebook.</p>\n";
  const bool many = overview.items.size() > most_upright;
  std::string text = fmt::format(
      "<section class=\"by-students\">\n<h2 id=\"students\">{0}</h2>\n<div class=\"students\" "
      "role=\"region\" aria-labelledby=\"students\" tabindex=\"0\">\n<table{1}>\n<thead><tr>"
      "<th scope=\"col\">{2}</th>",
      counted_rows(std::ssize(overview.rows), overview), many ? " class=\"many\"" : "",
      noun(overview));
  for (const OverviewItem& item : overview.items) {
    text += fmt::format(
        "<th scope=\"col\" class=\"number\"><div class=\"item\">{}</div><small class=\"quiet\">of "
        "{}</small></th>",
        breakable(item.name), points_text(item.points));
  }
  text += fmt::format(
      "<th scope=\"col\" class=\"number total\">total<small class=\"quiet\">of {}</small></th>"
      "<th scope=\"col\">flags</th></tr></thead>\n<tbody>\n",
      points_text(overview.points));
  for (const OverviewRow& row : overview.rows) text += student_row(overview, row);
  return text + "</tbody>\n</table>\n</div>\n" + hand_list(overview) + "</section>\n";
}

}  // namespace

std::string class_html(const Overview& overview) {
  const std::string title = overview.title.empty() ? overview.rubric : overview.title;
  std::string body = head(overview) + "<main>\n";
  if (!overview.rows.empty()) {
    const bool is_long = overview.mistakes.size() > few_mistakes;
    body += fmt::format("<div class=\"summary{}\">\n", is_long ? " long" : "") +
            points_section(overview) + problems_section(overview) + mistakes_section(overview) +
            "</div>\n";
  }
  body += students_section(overview) + "</main>\n";
  return html_page(printable(title, 100) + ": " + counted_rows(std::ssize(overview.rows), overview),
                   std::string(grade_style()).append(style), body);
}

}  // namespace prenorm::harness
