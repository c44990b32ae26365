// A class for a spreadsheet.
#include "base/text.hpp"
#include "class/class_overview.hpp"
#include "report/csv.hpp"
#include "class/times.hpp"
#include "grade/report_parts.hpp"

#include <fmt/format.h>

namespace prenorm::harness {

std::string class_csv(const Overview& overview) {
  CsvRows rows;
  for (const char* head : {"submission", "name", "id", "email"}) rows.text(head);
  for (const OverviewItem& item : overview.items) rows.text(item.name);
  for (const char* head : {"total", "out of", "flags", "set by hand"}) rows.text(head);
  if (overview.deadline) rows.text("handed in").text("days late");
  rows.end();
  for (const OverviewRow& row : overview.rows) {
    rows.text(row.submission).text(row.name).text(row.id).text(row.email);
    std::vector<std::string> set;
    // What the grader could not grade has no points; nothing handed in earns none.
    const bool known = row.counted || handed_nothing_in(row);
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
      rows.text(late ? time_text(row.handed_in->time) : "");
      late ? rows.number(static_cast<double>(*late)) : rows.text("");
    }
    rows.end();
  }
  return rows.take();
}

}  // namespace prenorm::harness
