// A class for spreadsheets and programs: what the gradebook holds. JSON has nothing that differs
// from run to run.
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/times.hpp"
#include "class/class_overview.hpp"
#include "grade/report_parts.hpp"
#include "report/csv.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

Json item_of(const OverviewItem& item) {
  return {{"name", item.name}, {"problems", item.problems}, {"points", item.points}};
}

Json summary_of(const Overview& overview) {
  Json items = Json::array();
  for (const OverviewItem& item : overview.items) {
    items.push_back(
        {{"item", item.name}, {"share", item.share()}, {"full", item.full}, {"of", item.rows}});
  }
  return {{"items", std::move(items)},       {"mistakes", overview.mistakes},
          {"decisions", overview.decisions}, {"histogram", overview.histogram},
          {"mean", overview.mean},           {"median", overview.median}};
}

Json points_of(const Overview& overview, const OverviewRow& row) {
  Json all = Json::array();
  for (std::size_t i = 0; i < row.points.size(); ++i) {
    const OverviewPoints& points = row.points[i];
    Json object{{"item", overview.items[i].name},
                {"earned", points.earned},
                {"set_by_hand", points.set_by_hand}};
    if (points.set_by_hand) {
      object["graded"] = points.graded;
      object["why"] = points.why;
    }
    all.push_back(std::move(object));
  }
  return all;
}

Json row_of(const Overview& overview, const OverviewRow& row) {
  Json object{{"submission", row.submission},
              {"name", row.name},
              {"id", row.id},
              {"email", row.email},
              {"graded", row.graded},
              {"gradeable", row.has_points() || !row.graded},
              {"not_asked", row.not_asked},
              {"total", row.total},
              {"points", points_of(overview, row)},
              {"flags", row.flags},
              {"passed", row.passed},
              {"failed", row.failed},
              {"skipped", row.skipped}};
  if (const auto late = days_late(overview, row)) {
    object["handed_in"] = time_text(*row.handed_in);
    object["time_from"] = row.time_of_files ? "files" : "roster";
    object["days_late"] = *late;
  }
  return object;
}

/// The grading without its cases.
Json grading_object(const Grading& grading, const Entry& entry) {
  return {{"files", entry.files},       {"exam", entry.exam},
          {"limits", entry.limits},     {"kind", grading.kind_text()},
          {"sandbox", grading.sandbox}, {"status", name(grading.status)},
          {"message", grading.message}, {"notes", grading.notes},
          {"imports", grading.imports}, {"items", array_of(grading.items, item_object)}};
}

/// One case per line.
std::string results_of(const Grading& grading) {
  std::string text;
  for (const GradedItem& item : grading.items) {
    for (const GradedCase& graded : item.cases) {
      Json object = case_object(item, graded, true);
      for (const char* member : {"seconds", "repeat", "fixture", "solution"}) object.erase(member);
      text += (text.empty() ? "" : ",\n") + to_line(object);
    }
  }
  return text;
}

}  // namespace

std::string class_csv(const Overview& overview) {
  CsvRows rows;
  for (const char* head : {"submission", "name", "id", "email"}) rows.text(head);
  for (const OverviewItem& item : overview.items) rows.text(item.name);
  for (const char* head : {"total", "out of", "flags", "set by hand"}) rows.text(head);
  if (overview.deadline) rows.text("handed in").text("time from").text("days late");
  rows.end();
  for (const OverviewRow& row : overview.rows) {
    rows.text(row.submission).text(row.name).text(row.id).text(row.email);
    std::vector<std::string> set;
    // A submission that could not be graded has no points; one that was not handed in has 0.
    const bool known = row.has_points() || row.absent;
    for (std::size_t i = 0; i < row.points.size(); ++i) {
      const OverviewPoints& points = row.points[i];
      known || points.set_by_hand ? rows.number(points.earned) : rows.text("");
      if (!points.set_by_hand) continue;
      set.push_back(fmt::format("{}: {} in place of {}: {}", overview.items[i].name,
                                points_text(points.earned), points_text(points.graded),
                                points.why));
    }
    has_total(row) ? rows.number(row.total) : rows.text("");
    rows.number(overview.points);
    rows.text(joined(row.flags, "; ")).text(joined(set, "; "));
    if (overview.deadline) {
      const auto late = days_late(overview, row);
      rows.text(late ? time_text(*row.handed_in) : "");
      rows.text(!late ? "" : row.time_of_files ? "files" : "roster");
      late ? rows.number(static_cast<double>(*late)) : rows.text("");
    }
    rows.end();
  }
  return rows.take();
}

void class_json(const Overview& overview, const Gradebook& book,
                const std::function<void(const std::string&)>& write) {
  const Course course = book.course().value_or(Course{});
  const Json head{{"version", 1},
                  {"command", "gradebook"},
                  {"rubric", overview.rubric},
                  {"title", overview.title},
                  {"seed", course.seed},
                  {"exam", course.exam},
                  {"points", overview.points},
                  {"items", array_of(overview.items, item_of)},
                  {"summary", summary_of(overview)},
                  {"go_on", overview.go_on}};
  std::string text = head.dump(2, ' ', false, Json::error_handler_t::replace);
  text.erase(text.rfind("\n}"));
  write(text + ",\n  \"students\": [");
  const std::map<std::string, Entry> entries = book.entries();
  bool first = true;
  for (const OverviewRow& row : overview.rows) {
    Json student = row_of(overview, row);
    Grading grading;
    if (row.graded) {
      grading = book.grading(row.submission);
      student.update(grading_object(grading, entries.at(row.submission)));
    }
    std::string object = to_line(student);
    object.pop_back();
    write((first ? "\n" : ",\n") + object + ",\"results\":[\n" + results_of(grading) + "]}");
    first = false;
  }
  write("\n  ]\n}\n");
}

}  // namespace prenorm::harness
