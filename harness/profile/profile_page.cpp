// A run of `profile` in a browser: tables, and pictures of requests.
#include "base/error.hpp"
#include "base/printable.hpp"
#include "profile/profile_tables.hpp"
#include "profile/request_picture.hpp"
#include "report/page.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness::profile {
namespace {

constexpr std::size_t most_pictures = 6;  // of each version

/// "rmsnorm v1, rmsnorm.cu:88: global load, 4096 requests".
std::string title_of(const CostlyAccess& costly) {
  return costly.kernel->kernel + ", " + place_text(*costly.access) + ": " +
         requests_text(*costly.access);
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      cells.push_back({{"text", cell.text}, {"tone", css_class(cell.tone)}});
    }
    // A rule below a row is below all of its cells.
    while (cells.size() < table.head.size()) cells.push_back({{"text", ""}, {"tone", ""}});
    rows.push_back({{"cells", cells}, {"of_version", row.front().tone == Tone::strong}});
  }
  return {{"head", table.head}, {"rows", rows}};
}

Json version_json(const ProfileRow& row, const LineFilter& wanted) {
  Json figures = Json::array();
  for (const CostlyAccess& each : costliest(row.kernels, wanted)) {
    if (figures.size() == most_pictures) break;
    figures.push_back({{"picture", request_picture(*each.access, title_of(each))},
                       {"kernel", each.kernel->kernel},
                       {"place", place_text(*each.access)},
                       {"requests", requests_text(*each.access)},
                       {"pattern", pattern_of(*each.access)},
                       {"tone", is_wasteful(*each.access) ? "bad" : ""}});
  }
  return {{"solution", printable(row.solution, 200)}, {"figures", listed(figures)}};
}

void require_line(const ProfileReport& report, const LineFilter& wanted) {
  const bool found = std::ranges::any_of(
      report.rows, [&](const ProfileRow& row) { return !costliest(row.kernels, wanted).empty(); });
  if (found) return;
  std::string text = "no request";
  if (!wanted.line.empty()) text += " of line '" + printable(wanted.line, 200) + "'";
  if (!wanted.memory.empty()) text += " of " + wanted.memory + " memory";
  throw UsageError(text + " was counted; --lines lists them");
}

}  // namespace

std::string profile_html(const ProfileReport& report, const LineFilter& wanted) {
  if (!wanted.line.empty()) require_line(report, wanted);
  Json groups = Json::array();
  for (const auto& group : groups_of(report)) {
    Json versions = Json::array();
    for (const ProfileRow* row : group) versions.push_back(version_json(*row, wanted));
    Json tables = Json::array();
    for (const Table& table : tables_of(group, report)) tables.push_back(table_json(table));
    groups.push_back({{"heading", printable(group_heading(*group.front()), 300)},
                      {"minimum", group_minimum(*group.front())},
                      {"tables", tables},
                      {"versions", versions}});
  }
  std::string notes = notes_on(report);
  std::ranges::replace(notes, '\n', ' ');
  std::string facts;
  for (const auto& [what, value] : describe_environment()) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", what, value);
  }
  return render_page("profile", {{"page_title", "prenorm profile"},
                                 {"notes", notes},
                                 {"device", report.device.name},
                                 {"source", report.device.source},
                                 {"groups", groups},
                                 {"facts", facts}});
}

std::string profile_svg(const ProfileReport& report, const LineFilter& wanted) {
  require_line(report, wanted);
  CostlyAccess most{nullptr, nullptr};
  for (const ProfileRow& row : report.rows) {
    for (const CostlyAccess& each : costliest(row.kernels, wanted)) {
      if (most.access == nullptr || cost(*each.access) > cost(*most.access)) most = each;
    }
  }
  return request_file(*most.access, title_of(most));
}

}  // namespace prenorm::harness::profile
