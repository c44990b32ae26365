#include "report/page.hpp"
#include "report/report.hpp"
#include "report/json.hpp"

#include <fmt/format.h>
#include <sstream>

namespace prenorm::harness {

std::string to_html(const Report& report) {
  const Table table = overview(report);
  Json rows = Json::array(), notes = Json::array(), failures = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      cells.push_back({{"text", cell.text}, {"tone", css_class(cell.tone)}});
    }
    rows.push_back({{"cells", cells}});
  }
  std::istringstream left_out(omissions(report));
  for (std::string line; std::getline(left_out, line);) notes.push_back(line);
  for (const Result& result : report.results) {
    if (result.status == Status::passed || result.status == Status::skipped ||
        result.status == Status::not_implemented) {
      continue;
    }
    failures.push_back(
        {{"status", name(result.status)},
         {"label", result.case_name ? result.problem + " / " + *result.case_name : result.fixture},
         {"dtype", result.dtype},
         {"solution", result.solution},
         {"message", result.message},
         {"repeat", result.repeat}});
  }
  std::string facts;
  for (const auto& [what, value] : describe_environment()) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", what, value);
  }
  return render_page("report", {{"page_title", "prenorm " + report.command},
                                {"summary", summary_line(report, false)},
                                {"head", table.head},
                                {"rows", rows},
                                {"notes", notes},
                                {"failures", listed(failures)},
                                {"facts", facts}});
}

}  // namespace prenorm::harness
