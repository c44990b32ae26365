// A run of `profile` on a terminal.
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "profile/profile_report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness::profile {
namespace {

constexpr std::size_t lines_shown = 12;  // of each version

std::string grouped_key(const ProfileRow& row) {
  return row.work->problem + ", " + row.work->shape + ", " + std::string(name(row.work->dtype));
}

/// "3.2", of which 1 would do; "-" without requests.
Cell ratio_cell(std::uint64_t a, std::uint64_t least, std::uint64_t requests) {
  if (requests == 0) return {"-", Tone::quiet};
  const double each = static_cast<double>(a) / static_cast<double>(requests);
  const double ideal = static_cast<double>(least) / static_cast<double>(requests);
  if (a == least) return {fmt::format("{:.3g}", each)};
  return {fmt::format("{:.3g} ({:.3g})", each, ideal), a > 2 * least ? Tone::bad : Tone::plain};
}

Cell count_cell(std::uint64_t count) {
  return count == 0 ? Cell{"-", Tone::quiet} : Cell{fmt::format("{}", count)};
}

Cell times_cell(double bytes, double least) {
  if (!(least > 0)) return {"-", Tone::quiet};
  return {fmt::format("{:.3g}", bytes / least)};
}

std::string mebibytes(double bytes) { return fmt::format("{:.3g} MiB", bytes / (1 << 20)); }

std::vector<Cell> kernel_cells(const KernelCounts& kernel) {
  const Traffic loads = kernel.loads(Space::global), stores = kernel.stores(Space::global);
  const Traffic shared = kernel.shared();
  return {{"  " + kernel.kernel},
          count_cell(kernel.launches),
          ratio_cell(loads.sectors, loads.ideal_sectors, loads.requests),
          ratio_cell(stores.sectors, stores.ideal_sectors, stores.requests),
          {mebibytes(32 * static_cast<double>(loads.sectors + stores.sectors))},
          {mebibytes(static_cast<double>(kernel.least_bytes()))},
          ratio_cell(shared.wavefronts, shared.ideal_wavefronts, shared.requests),
          count_cell(kernel.barriers),
          count_cell(kernel.shuffles()),
          {""}};
}

std::vector<Cell> row_cells(const ProfileRow& row, const DeviceLimits& device) {
  std::uint64_t launches = 0;
  for (const KernelCounts& kernel : row.kernels) launches += kernel.launches;
  const Bound bound = row.bound(device);
  return {{row.solution, Tone::strong},
          count_cell(launches),
          {""},
          {""},
          times_cell(row.sector_bytes(), row.work->bytes),
          times_cell(row.least_bytes(), row.work->bytes),
          {""},
          {""},
          {""},
          {duration(bound.seconds) + (bound.by_bytes ? ", bytes" : ", operations")}};
}

Table table_of(const std::vector<const ProfileRow*>& rows, const DeviceLimits& device) {
  Table table{{"solution", "launches", "load s/r", "store s/r", "sectors", "footprint",
               "shared w/r", "barriers", "shuffles", "bound on " + device.id},
              {}};
  for (const ProfileRow* row : rows) {
    if (!row->ok()) {
      table.rows.push_back(
          {{row->solution, Tone::strong},
           {std::string(name(row->status)) + " " + printable(row->message, 200), Tone::bad}});
      continue;
    }
    table.rows.push_back(row_cells(*row, device));
    for (const KernelCounts& kernel : row->kernels) table.rows.push_back(kernel_cells(kernel));
  }
  return table;
}

/// The rows of each problem, shape and dtype, in their order.
std::vector<std::vector<const ProfileRow*>> groups_of(const ProfileReport& report) {
  std::vector<std::vector<const ProfileRow*>> groups;
  for (const ProfileRow& row : report.rows) {
    if (groups.empty() || groups.back().front()->work != row.work) groups.emplace_back();
    groups.back().push_back(&row);
  }
  return groups;
}

/// What an access costs: bytes of sectors, or of wavefronts, which are 128 each.
std::uint64_t cost(const Access& access) {
  return access.space == Space::global ? 32 * access.traffic.sectors
                                       : 128 * access.traffic.wavefronts;
}

std::string requests_text(const Access& access) {
  return fmt::format("{} {}, {} requests", name(access.space), name(access.kind),
                     access.traffic.requests);
}

}  // namespace

std::string profile_text(const ProfileReport& report, bool colour) {
  std::string text;
  for (const auto& group : groups_of(report)) {
    const ProfileRow& first = *group.front();
    text += toned(grouped_key(first), Tone::strong, colour) +
            fmt::format(": must move {}", mebibytes(first.work->bytes));
    if (first.work->flops > 0)
      text += fmt::format(", compute {:.3g} Mflop", first.work->flops / 1e6);
    text += "\n" + render(table_of(group, report.device), colour, terminal_width()) + "\n";
  }
  text += toned(
      "s/r: sectors of 32 bytes per request of a warp, w/r: wavefronts per request (in "
      "brackets: the least).\nsectors: bytes of all requests' sectors; footprint: of "
      "each launch's different ones. Of a solution, as\nmultiples of what the problem "
      "must move. The bound is not a time: no device ran.\n",
      Tone::quiet, colour);
  return text;
}

std::string lines_text(const ProfileReport& report, bool colour) {
  std::string text;
  for (const ProfileRow& row : report.rows) {
    std::vector<std::pair<const KernelCounts*, const Access*>> accesses;
    for (const KernelCounts& kernel : row.kernels) {
      for (const Access& access : kernel.accesses) accesses.emplace_back(&kernel, &access);
    }
    if (accesses.empty()) continue;
    std::ranges::stable_sort(accesses, std::greater(),
                             [](const auto& each) { return cost(*each.second); });
    text += toned(row.solution + ": " + grouped_key(row), Tone::strong, colour) + "\n";
    Table table{{"kernel", "line", "access", "pattern"}, {}};
    for (const auto& [kernel, access] : accesses) {
      if (table.rows.size() == lines_shown) break;
      const bool wasteful = access->worst_cost > 2 * access->worst_least;
      table.rows.push_back({{kernel->kernel},
                            {place_text(*access)},
                            {requests_text(*access)},
                            {pattern_of(*access), wasteful ? Tone::bad : Tone::plain}});
    }
    text += render(table, colour) + "\n";
  }
  return text;
}

}  // namespace prenorm::harness::profile
