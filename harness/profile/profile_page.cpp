#include "profile/profile_report.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
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

/// A table, for the page.
Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json cells = cell_values(row);
    // A rule below a row is below all of its cells.
    while (cells.size() < table.head.size()) cells.push_back({{"text", ""}, {"tone", ""}});
    rows.push_back({{"cells", cells}, {"of_version", row.front().tone == Tone::strong}});
  }
  return {{"head", table.head}, {"rows", rows}};
}

/// The pictures of a version's lines that cost most, for the page.
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

/// Throws UsageError for no accesses: `wanted` is what was looked for.
void require_line(const std::vector<CostlyAccess>& accesses, const LineFilter& wanted) {
  if (!accesses.empty()) return;
  std::string text = "no request";
  if (!wanted.line.empty()) text += " of line '" + printable(wanted.line, 200) + "'";
  if (!wanted.memory.empty()) text += " of " + wanted.memory + " memory";
  throw UsageError(text + " was counted; the table of lines has them (profile: --lines)");
}

/// As a file: the one that costs most. Throws UsageError for none.
std::string costliest_picture(const std::vector<CostlyAccess>& accesses, const LineFilter& wanted) {
  require_line(accesses, wanted);
  const auto most = std::ranges::max_element(
      accesses, {}, [](const CostlyAccess& each) { return cost(*each.access); });
  return request_file(*most->access, title_of(*most));
}

/// The page, of its title, notes and groups (templates/profile.mustache).
std::string profile_page(Json content) {
  content["facts"] = environment_text();
  std::string notes = content["notes"];
  std::ranges::replace(notes, '\n', ' ');
  content["notes"] = notes;
  return render_page("profile", content);
}

std::vector<CostlyAccess> costliest_of(const ProfileReport& report, const LineFilter& wanted) {
  std::vector<CostlyAccess> all;
  for (const ProfileRow& row : report.rows) {
    std::ranges::copy(costliest(row.kernels, wanted), std::back_inserter(all));
  }
  return all;
}

std::string kibibytes(std::uint64_t bytes) {
  return fmt::format("{:.3g} KiB", static_cast<double>(bytes) / 1024);
}

Table kernels_table(const std::vector<KernelCounts>& kernels) {
  Table table{{"kernel", "blocks", "threads", "launches", "load s/r", "store s/r", "sectors",
               "footprint", "shared w/r", "barriers", "shuffles"},
              {}};
  for (const KernelCounts& kernel : kernels) {
    const Traffic loads = kernel.loads(Space::global), stores = kernel.stores(Space::global);
    const Traffic shared = kernel.shared();
    const auto product = [](const auto& shape) { return shape[0] * shape[1] * shape[2]; };
    table.rows.push_back({{kernel.kernel, Tone::strong},
                          count_cell(product(kernel.grid)),
                          count_cell(product(kernel.block)),
                          count_cell(kernel.launches),
                          ratio_cell(loads.sectors, loads.ideal_sectors, loads.requests),
                          ratio_cell(stores.sectors, stores.ideal_sectors, stores.requests),
                          {kibibytes(32 * (loads.sectors + stores.sectors))},
                          {kibibytes(kernel.least_bytes())},
                          ratio_cell(shared.wavefronts, shared.ideal_wavefronts, shared.requests),
                          count_cell(kernel.barriers),
                          count_cell(kernel.shuffles())});
  }
  return table;
}

}  // namespace

std::string profile_html(const ProfileReport& report, const LineFilter& wanted) {
  if (!wanted.line.empty()) require_line(costliest_of(report, wanted), wanted);
  Json groups = Json::array();
  for (const auto& group : groups_of(report)) {
    const auto version = [&](const ProfileRow* row) {
      return version_json(row->solution, row->kernels, wanted);
    };
    groups.push_back({{"heading", printable(group_heading(*group.front()), 300)},
                      {"minimum", group_minimum(*group.front())},
                      {"tables", array_of(tables_of(group, report), table_json)},
                      {"versions", array_of(group, version)}});
  }
  return profile_page({{"page_title", "prenorm profile"},
                       {"notes", notes_on(report)},
                       {"device", {{"name", report.device.name}, {"source", report.device.source}}},
                       {"groups", groups}});
}

std::string profile_svg(const ProfileReport& report, const LineFilter& wanted) {
  return costliest_picture(costliest_of(report, wanted), wanted);
}

// ---- A program that `emulate` has run

std::vector<KernelCounts> program_kernels(const std::string& counts, const fs::path& program) {
  if (counts.empty()) return {};
  std::vector<KernelCounts> kernels = parse_counts(counts);
  find_lines(kernels, program);
  return kernels;
}

std::string program_text(const std::vector<KernelCounts>& kernels, const LineFilter& wanted,
                         bool colour) {
  const std::vector<CostlyAccess> accesses = costliest(kernels, wanted);
  if (!wanted.line.empty()) require_line(accesses, wanted);
  return render(kernels_table(kernels), colour, terminal_width()) + "\n" +
         render(lines_table(accesses), colour) + "\n" +
         toned(notes_on_counts(), Tone::quiet, colour);
}

std::string program_html(const std::string& name, const std::vector<KernelCounts>& kernels,
                         const LineFilter& wanted) {
  const std::string title = printable(name, 200);
  if (!wanted.line.empty()) require_line(costliest(kernels, wanted), wanted);
  return profile_page({{"page_title", title},
                       {"groups",
                        {{{"heading", "Its kernels"},
                          {"tables", {table_json(kernels_table(kernels))}},
                          {"versions", {version_json(title, kernels, wanted)}}}}},
                       {"notes", notes_on_counts()}});
}

std::string program_svg(const std::vector<KernelCounts>& kernels, const LineFilter& wanted) {
  return costliest_picture(costliest(kernels, wanted), wanted);
}

}  // namespace prenorm::harness::profile
