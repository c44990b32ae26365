// The page of a class that a teacher opens: how it went, what went wrong, and everybody's points.
#include "base/json.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "class/class_overview.hpp"
#include "class/times.hpp"
#include "explain/causes.hpp"
#include "grade/report_parts.hpp"
#include "report/page.hpp"
#include "report/svg.hpp"

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

/// A name of the rubric or of a file as HTML; it may break where an underscore stands.
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

Json figure_values(const Overview& overview) {
  const bool roster = std::ranges::any_of(overview.rows, from_roster);
  const auto total = std::ssize(overview.rows);
  const auto graded = std::ranges::count_if(overview.rows, &OverviewRow::graded);
  const auto nothing = std::ranges::count_if(overview.rows, handed_nothing_in);
  Json figures = Json::array();
  const auto add = [&](std::string_view what, const Json& figure, const std::string& of = "") {
    figures.push_back({{"what", what}, {"figure", figure}, {"of", of}});
  };
  if (roster) add("students", total);
  add("submissions", total - nothing);
  add("graded", graded);
  add("not graded", total - nothing - graded);
  if (graded > 0) {
    add("mean", points_text(overview.mean), of_points(overview.points));
    add("median", points_text(overview.median), of_points(overview.points));
  }
  return figures;
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

void draw_axes(Svg& svg, const Overview& overview, const Scales& scales) {
  const Svg::Attribute middle{"text-anchor", "middle"}, axis{"class", "axis"};
  for (std::int64_t count = scales.step; count <= scales.highest; count += scales.step) {
    const double y = scales.y(count);
    svg.add("path", {{"class", "grid"}, {"d", fmt::format("M{:g} {:g}h{:g}", left, y, width)}});
    svg.label(left - 6, y + 4, std::to_string(count), {{"text-anchor", "end"}});
  }
  svg.add("path", {axis, {"d", fmt::format("M{:g} {:g}h{:g}", left, base, width)}});
  std::size_t longest = 0;
  for (std::size_t k = 0; k <= scales.bins; ++k) {
    longest = std::max(longest, scales.edge(k).size());
  }
  for (std::size_t k = 0; k <= scales.bins; k += longest > 3 ? 2 : 1) {
    const double x = scales.x_of_bin(k);
    svg.add("path", {axis, {"d", fmt::format("M{:g} {:g}v4", x, base)}});
    svg.label(x, base + 18, scales.edge(k), {middle});
  }
  svg.label(left + width / 2, base + 37, "points", {middle});
  const double y = top + height / 2;
  svg.label(0, 0, fmt::format("{}s", noun(overview)),
            {middle, {"transform", fmt::format("translate(13 {:g}) rotate(-90)", y)}});
}

/// With the count above each, and in words where the mouse is.
void draw_bars(Svg& svg, const Overview& overview, const Scales& scales) {
  for (std::size_t k = 0; k < scales.bins; ++k) {
    const std::int64_t count = overview.histogram[k];
    if (count < 1) continue;
    const double x = scales.x_of_bin(k), y = scales.y(count);
    svg.open("rect", {{"x", x + 1.5}, {"y", y}, {"width", scales.bin - 3}, {"height", base - y}});
    svg.add("title", {},
            fmt::format("{}: {} {} {} points", counted_rows(count, overview), scales.edge(k),
                        k + 1 == scales.bins ? "to" : "to under", scales.edge(k + 1)));
    svg.close();
    svg.label(x + scales.bin / 2, y - 4, std::to_string(count), {{"text-anchor", "middle"}});
  }
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
void draw_landmarks(Svg& svg, const Overview& overview, const Scales& scales) {
  for (const Landmark& mark : landmarks(overview, scales)) {
    const double y = mark.upper ? 12 : 28;
    std::string path = fmt::format("M{:g} {:g}", mark.x, y - 10);
    for (std::size_t k = 0; k < scales.bins; ++k) {
      const std::int64_t count = overview.histogram[k];
      const double middle = scales.x_of_bin(k) + scales.bin / 2;
      const double half = 3 + 4 * static_cast<double>(std::to_string(count).size());
      if (count < 1 || std::abs(mark.x - middle) > half) continue;
      path += fmt::format("V{:g}M{:g} {:g}", scales.y(count) - 17, mark.x, scales.y(count));
    }
    svg.add("path", {{"class", mark.kind}, {"d", path + fmt::format("V{:g}", base)}});
    svg.label(mark.x + (mark.left ? -6 : 6), y, mark.text,
              {{"text-anchor", mark.left ? "end" : "start"}});
  }
}

std::string histogram(const Overview& overview) {
  const Scales scales(overview);
  Svg svg;
  draw_axes(svg, overview, scales);
  draw_bars(svg, overview, scales);
  draw_landmarks(svg, overview, scales);
  return svg.picture(
      left + width + 22, base + 44,
      {{"class", "points"},
       {"role", "img"},
       {"aria-label", fmt::format("Histogram: how many {}s got how many points", noun(overview))}});
}

// ---- Items and mistakes

Json share_values(const Overview& overview) {
  const auto is_graded = [](const OverviewItem& item) { return item.rows > 0; };
  if (std::ranges::none_of(overview.items, is_graded)) return {};
  Json items = Json::array();
  for (const OverviewItem& item : overview.items) {
    const double share = 100 * item.share();
    items.push_back({{"item", breakable(item.name)},
                     {"share", fmt::format("{:.1f}", std::clamp(share, 0.0, 100.0))},
                     {"full", item.full},
                     {"rows", item.rows},
                     {"per_cent", is_graded(item) ? fmt::format("{:.0f}%", share) : ""}});
  }
  return listed(items);
}

/// A group of rows per problem, the one with the commonest mistake first.
Json mistake_values(const Overview& overview) {
  Json problems = Json::array();
  std::set<std::string> told;
  for (const OverviewMistake& first : overview.mistakes) {
    if (!told.insert(first.problem).second) continue;
    Json rows = Json::array(), more;
    for (const OverviewMistake& mistake : overview.mistakes) {
      if (mistake.problem != first.problem) continue;
      rows.push_back({{"mistake", printable(words_of(mistake.problem, mistake.mistake).name, 200)},
                      {"submissions", mistake.submissions}});
    }
    if (rows.size() > most_mistakes + 1) {
      more = rows.size() - most_mistakes;
      rows.erase(rows.begin() + most_mistakes, rows.end());
    }
    problems.push_back({{"problem", breakable(first.problem)}, {"rows", rows}, {"more", more}});
  }
  return listed(problems);
}

Json summary_values(const Overview& overview) {
  const bool any = std::ranges::any_of(overview.histogram, [](auto count) { return count > 0; });
  const bool drawn = any && overview.points > 0;
  return {{"long", overview.mistakes.size() > few_mistakes},
          {"picture", drawn ? histogram(overview) : ""},
          {"no_picture", drawn ? ""
                         : any ? "The rubric has no points."
                               : "Nothing is graded yet."},
          {"shares", share_values(overview)},
          {"mistakes", mistake_values(overview)}};
}

// ---- Everybody's points

std::string hand_text(const OverviewPoints& points) {
  return fmt::format("set by hand to {}, graded {}", points_text(points.earned),
                     points_text(points.graded));
}

Json points_cell(const OverviewRow& row, const OverviewItem& item, std::size_t number) {
  const OverviewPoints points = number < row.points.size() ? row.points[number] : OverviewPoints();
  const bool counts = row.counted || points.set_by_hand;
  const bool toned = row.counted && !points.set_by_hand;
  return {{"points", counts ? points_text(points.earned) : ""},
          {"tone", toned ? css_class(tone_of(points.earned, item.points)) : ""},
          {"hand", points.set_by_hand ? hand_text(points) : ""},
          {"why", printable(points.why)}};
}

Json student_row(const Overview& overview, const OverviewRow& row) {
  Json cells = Json::array(), ids = Json::array(), flags = Json::array();
  for (std::size_t i = 0; i < overview.items.size(); ++i) {
    cells.push_back(points_cell(row, overview.items[i], i));
  }
  std::string whole = called(row);
  for (const std::string& id : {row.id, row.submission}) {  // what else tells who it is
    if (id.empty() || id == called(row)) continue;
    ids.push_back({{"before", ids.empty() ? "" : " · "}, {"id", printable(id, 60)}});
    whole += " · " + id;
  }
  for (const std::string& flag : row.flags) {
    flags.push_back({{"before", flags.empty() ? "" : "; "}, {"flag", printable(flag, 200)}});
  }
  const auto late = days_late(overview, row);
  const bool counts = row.counted || std::ranges::any_of(row.points, &OverviewPoints::set_by_hand);
  return {{"called", printable(called(row), 100)},
          {"page", row.page},
          {"whole", printable(whole, 300)},
          {"whole_flags", printable(joined(row.flags, "; "), 1000)},
          {"ids", listed(ids)},
          {"cells", cells},
          {"late", late ? std::to_string(*late) : "–"},
          {"handed_in", late ? time_text(row.handed_in->time) : ""},
          {"passed", row.passed},
          {"failed", row.failed},
          {"skipped", row.skipped},
          {"total", counts ? points_text(row.total) : "–"},
          {"flags", listed(flags)}};
}

/// The same reasons that the table has, to be read on paper and without a mouse.
Json hand_list(const Overview& overview) {
  Json list = Json::array();
  for (const OverviewRow& row : overview.rows) {
    for (std::size_t i = 0; i < std::min(row.points.size(), overview.items.size()); ++i) {
      if (!row.points[i].set_by_hand) continue;
      list.push_back({{"called", printable(called(row), 100)},
                      {"item", breakable(overview.items[i].name)},
                      {"hand", hand_text(row.points[i])},
                      {"why", printable(row.points[i].why)}});
    }
  }
  return listed(list);
}

Json student_values(const Overview& overview) {
  Json items = Json::array(), rows = Json::array();
  for (const OverviewItem& item : overview.items) {
    items.push_back({{"item", breakable(item.name)}, {"points", points_text(item.points)}});
  }
  for (const OverviewRow& row : overview.rows) rows.push_back(student_row(overview, row));
  return {{"counted", counted_rows(std::ssize(overview.rows), overview)},
          {"many", overview.items.size() > most_upright},
          {"noun", noun(overview)},
          {"items", items},
          {"points", points_text(overview.points)},
          {"dated", overview.deadline.has_value()},
          {"rows", rows},
          {"by_hand", hand_list(overview)}};
}

}  // namespace

std::string class_html(const Overview& overview) {
  const std::string& title = overview.title.empty() ? overview.rubric : overview.title;
  const bool any = !overview.rows.empty();
  const auto others = std::ranges::any_of(overview.rows, from_roster)
                          ? std::ranges::count_if(overview.rows, std::not_fn(from_roster))
                          : 0;
  return render_page(
      "class", {{"script_policy", script_policy("class.js")},
                {"page_title",
                 printable(title, 100) + ": " + counted_rows(std::ssize(overview.rows), overview)},
                {"title", printable(title, 300)},
                {"rubric", printable(overview.rubric, 200)},
                {"gradebook", printable(overview.gradebook, 200)},
                {"figures", figure_values(overview)},
                {"others", others == 0   ? ""
                           : others == 1 ? "1 submission is"
                                         : fmt::format("{} submissions are", others)},
                {"stand", others == 1 ? "it stands" : "they stand"},
                {"summary", any ? summary_values(overview) : Json()},
                {"students", any ? student_values(overview) : Json()}});
}

}  // namespace prenorm::harness
