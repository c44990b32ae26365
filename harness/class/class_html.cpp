// The page of a class that a teacher opens: how it went, what went wrong, and everybody's points.
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/times.hpp"
#include "class/class_overview.hpp"
#include "grade/report_parts.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <set>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_upright = 6;   // items whose names stand level above their columns
constexpr std::size_t few_mistakes = 6;   // in all: they stand below the histogram
constexpr std::size_t most_mistakes = 5;  // named per problem; the others are counted
constexpr std::size_t most_named = 5;     // of those who made a mistake

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

// ---- How it went

Json figure_values(const Overview& overview) {
  const bool roster = std::ranges::any_of(overview.rows, from_roster);
  const auto total = std::ssize(overview.rows);
  const auto graded = std::ranges::count_if(overview.rows, &OverviewRow::graded);
  const auto nothing = std::ranges::count_if(overview.rows, &OverviewRow::absent);
  Json figures = Json::array();
  const auto add = [&](std::string_view what, const Json& figure, const std::string& of = "") {
    figures.push_back({{"what", what}, {"figure", figure}, {"of", of}});
  };
  if (roster) add("students", total);
  add("submissions", total - nothing);
  add("graded", graded);
  const auto no_work = std::ranges::count_if(overview.rows, &OverviewRow::not_gradeable);
  if (no_work > 0) add("of them not gradeable", no_work);
  const auto partly = std::ranges::count_if(overview.rows, lacks_cases);
  if (partly > 0) add("of them not whole", partly);
  add("not graded", total - nothing - graded);
  if (graded > 0) {
    add("mean", points_text(overview.mean), of_points(overview.points));
    add("median", points_text(overview.median), of_points(overview.points));
  }
  return figures;
}

// ---- The histogram of points

std::string css_per_cent(double part) { return fmt::format("{:.4g}%", 100 * part); }

/// A line where the mean or the median is, with a text beside it: on the left if the line is
/// further to the right than that part of the width.
Json landmark(const std::string& kind, const std::string& text, double points,
              const Overview& overview, double left_from) {
  const double part = std::clamp(points / overview.points, 0., 1.);
  return {{"kind", kind}, {"text", text}, {"at", css_per_cent(part)}, {"left", part > left_from}};
}

Json histogram_values(const Overview& overview) {
  const std::size_t bins = overview.histogram.size();
  const auto most = static_cast<double>(std::ranges::max(overview.histogram));
  std::vector<std::string> edges;  // the points at which each bin begins, and the last one ends
  std::size_t longest = 0;
  for (std::size_t k = 0; k <= bins; ++k) {
    const double part = static_cast<double>(k) / static_cast<double>(bins);
    edges.push_back(points_text(overview.points * part));
    longest = std::max(longest, edges.back().size());
  }
  Json columns = Json::array(), labels = Json::array();
  for (std::size_t k = 0; k < bins; ++k) {
    const std::int64_t count = overview.histogram[k];
    columns.push_back(
        {{"count", count > 0 ? std::to_string(count) : ""},
         {"height", css_per_cent(static_cast<double>(count) / most)},
         {"title", fmt::format("{}: {} {} {} points", counted_rows(count, overview), edges[k],
                               k + 1 == bins ? "to" : "to under", edges[k + 1])}});
  }
  for (std::size_t k = 0; k <= bins; k += longest > 3 ? 2 : 1) {
    const double part = static_cast<double>(k) / static_cast<double>(bins);
    labels.push_back({{"edge", edges[k]}, {"at", css_per_cent(part)}});
  }
  const std::string mean = points_text(overview.mean), median = points_text(overview.median);
  Json marks = Json::array();
  if (mean == median) {
    marks.push_back(landmark("mean", "mean and median " + mean, overview.mean, overview, .5));
  } else {  // the texts point away from each other where there is room
    const bool rises = overview.mean < overview.median;
    marks.push_back(landmark("mean", "mean " + mean, overview.mean, overview, rises ? .3 : .7));
    marks.push_back(
        landmark("median", "median " + median, overview.median, overview, rises ? .7 : .3));
  }
  return {{"columns", columns}, {"edges", labels}, {"marks", marks}};
}

// ---- Items and mistakes

Json share_values(const Overview& overview) {
  const auto is_graded = [](const OverviewItem& item) { return item.rows > 0; };
  if (std::ranges::none_of(overview.items, is_graded)) return {};
  return listed(array_of(overview.items, [&](const OverviewItem& item) -> Json {
    const double share = 100 * item.share();
    return {{"item", breakable(item.name)},
            {"share", fmt::format("{:.1f}", std::clamp(share, 0.0, 100.0))},
            {"full", item.full},
            {"rows", item.rows},
            {"per_cent", is_graded(item) ? fmt::format("{:.0f}%", share) : ""}};
  }));
}

std::string who_text(const OverviewMistake& mistake) {
  std::vector<std::string> who = mistake.who;
  if (who.size() > most_named) who.resize(most_named);
  const std::size_t others = mistake.who.size() - who.size();
  return printable(joined(who), 500) + (others > 0 ? fmt::format(" and {} more", others) : "");
}

/// A group of rows per problem, the one with the mistake that costs most first.
Json mistake_values(const Overview& overview) {
  std::vector<OverviewMistake> all = overview.mistakes;
  std::ranges::copy(overview.unnamed, std::back_inserter(all));
  std::ranges::stable_sort(all, std::greater{}, &OverviewMistake::lost);
  Json problems = Json::array();
  std::set<std::string> told;
  for (const OverviewMistake& first : all) {
    if (!told.insert(first.problem).second) continue;
    Json rows = Json::array(), more;
    for (const OverviewMistake& mistake : all) {
      if (mistake.problem != first.problem) continue;
      const std::string& name = mistake.mistake.empty()
                                    ? mistake.unnamed
                                    : words_of(mistake.problem, mistake.mistake).name;
      rows.push_back({{"mistake", printable(name, 200)},
                      {"who", who_text(mistake)},
                      {"lost", points_text(mistake.lost)},
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

Json decision_values(const Overview& overview) {
  return listed(array_of(overview.decisions, [](const OverviewDecision& decision) -> Json {
    return {{"decision", decision_text(decision)}};
  }));
}

Json summary_values(const Overview& overview) {
  const bool any = std::ranges::any_of(overview.histogram, [](auto count) { return count > 0; });
  const bool drawn = any && overview.points > 0;
  return {{"long", overview.mistakes.size() + overview.unnamed.size() > few_mistakes},
          {"histogram", drawn ? histogram_values(overview) : Json()},
          {"no_histogram", drawn ? ""
                           : any ? "The rubric has no points."
                                 : "Nothing is graded yet."},
          {"noun", noun(overview)},
          {"shares", share_values(overview)},
          {"mistakes", mistake_values(overview)},
          {"decisions", decision_values(overview)}};
}

// ---- Everybody's points

std::string hand_text(const OverviewPoints& points) {
  return fmt::format("set by hand to {}, graded {}", points_text(points.earned),
                     points_text(points.graded));
}

Json points_cell(const OverviewRow& row, const OverviewItem& item, std::size_t number) {
  const OverviewPoints points = number < row.points.size() ? row.points[number] : OverviewPoints();
  const bool counts = row.has_points() || points.set_by_hand;
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
  std::string whole = row.called();
  for (const std::string& id : {row.id, row.submission}) {  // further names of theirs
    if (id.empty() || id == row.called()) continue;
    ids.push_back({{"before", ids.empty() ? "" : " · "}, {"id", printable(id, 60)}});
    whole += " · " + id;
  }
  for (const std::string& flag : row.flags) {
    flags.push_back({{"before", flags.empty() ? "" : "; "}, {"flag", printable(flag, 200)}});
  }
  const auto late = days_late(overview, row);
  const bool counts =
      row.has_points() || std::ranges::any_of(row.points, &OverviewPoints::set_by_hand);
  return {{"called", printable(row.called(), 100)},
          {"page", row.page},
          {"whole", printable(whole, 300)},
          {"whole_flags", printable(joined(row.flags, "; "), 1000)},
          {"ids", listed(ids)},
          {"cells", cells},
          {"late", late ? late_text(overview, row) : "–"},
          {"handed_in", late ? time_text(*row.handed_in) : ""},
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
      list.push_back({{"called", printable(row.called(), 100)},
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
                {"go_on", printable(overview.go_on, 4000)},
                {"others", others == 0   ? ""
                           : others == 1 ? "1 submission is"
                                         : fmt::format("{} submissions are", others)},
                {"stand", others == 1 ? "it stands" : "they stand"},
                {"summary", any ? summary_values(overview) : Json()},
                {"students", any ? student_values(overview) : Json()}});
}

}  // namespace prenorm::harness
