#include "profile/profile_tables.hpp"

#include "base/error.hpp"
#include "base/printable.hpp"
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

}  // namespace

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

Json version_json(const std::string& version, const std::vector<KernelCounts>& kernels,
                  const LineFilter& wanted) {
  Json figures = Json::array();
  for (const CostlyAccess& each : costliest(kernels, wanted)) {
    if (figures.size() == most_pictures) break;
    figures.push_back({{"picture", request_picture(*each.access, title_of(each))},
                       {"kernel", each.kernel->kernel},
                       {"place", place_text(*each.access)},
                       {"requests", requests_text(*each.access)},
                       {"pattern", pattern_of(*each.access)},
                       {"tone", is_wasteful(*each.access) ? "bad" : ""}});
  }
  return {{"solution", printable(version, 200)}, {"figures", listed(figures)}};
}

void require_line(const std::vector<CostlyAccess>& accesses, const LineFilter& wanted) {
  if (!accesses.empty()) return;
  std::string text = "no request";
  if (!wanted.line.empty()) text += " of line '" + printable(wanted.line, 200) + "'";
  if (!wanted.memory.empty()) text += " of " + wanted.memory + " memory";
  throw UsageError(text + " was counted; the table of lines has them (profile: --lines)");
}

std::string costliest_picture(const std::vector<CostlyAccess>& accesses, const LineFilter& wanted) {
  require_line(accesses, wanted);
  const auto most = std::ranges::max_element(
      accesses, {}, [](const CostlyAccess& each) { return cost(*each.access); });
  return request_file(*most->access, title_of(*most));
}

std::string profile_page(Json content) {
  std::string facts;
  for (const auto& [what, value] : describe_environment()) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", what, value);
  }
  content["facts"] = facts;
  std::string notes = content["notes"];
  std::ranges::replace(notes, '\n', ' ');
  content["notes"] = notes;
  return render_page("profile", content);
}

namespace {

std::vector<CostlyAccess> costliest_of(const ProfileReport& report, const LineFilter& wanted) {
  std::vector<CostlyAccess> all;
  for (const ProfileRow& row : report.rows) {
    std::ranges::copy(costliest(row.kernels, wanted), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::string profile_html(const ProfileReport& report, const LineFilter& wanted) {
  if (!wanted.line.empty()) require_line(costliest_of(report, wanted), wanted);
  Json groups = Json::array();
  for (const auto& group : groups_of(report)) {
    Json versions = Json::array();
    for (const ProfileRow* row : group) {
      versions.push_back(version_json(row->solution, row->kernels, wanted));
    }
    Json tables = Json::array();
    for (const Table& table : tables_of(group, report)) tables.push_back(table_json(table));
    groups.push_back({{"heading", printable(group_heading(*group.front()), 300)},
                      {"minimum", group_minimum(*group.front())},
                      {"tables", tables},
                      {"versions", versions}});
  }
  return profile_page({{"page_title", "prenorm profile"},
                       {"notes", notes_on(report)},
                       {"device", {{"name", report.device.name}, {"source", report.device.source}}},
                       {"groups", groups}});
}

std::string profile_svg(const ProfileReport& report, const LineFilter& wanted) {
  return costliest_picture(costliest_of(report, wanted), wanted);
}

}  // namespace prenorm::harness::profile
