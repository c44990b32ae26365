// A run of `profile` on a terminal; requests in words.
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "profile/profile_report.hpp"
#include "profile/resources.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness::profile {
namespace {

constexpr std::size_t lines_shown = 12;  // of each version
/// A device's counts are those that are counted here if they differ by no larger share of them.
constexpr double agreement = 0.05;

Cell times_cell(double bytes, double least) {
  if (!(least > 0)) return {"-", Tone::quiet};
  return {fmt::format("{:.3g}", bytes / least)};
}

Cell bytes_cell(std::uint64_t bytes) {
  return bytes == 0 ? Cell{"-", Tone::quiet} : Cell{fmt::format("{} B", bytes)};
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

Table group_table(const std::vector<const ProfileRow*>& rows, const DeviceLimits& device) {
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

Table resources_table(const std::vector<const ProfileRow*>& rows, const DeviceLimits& device) {
  Table table{{"kernel, compiled for " + device.architecture, "threads", "registers", "spilled",
               "static shared", "dynamic shared", "blocks at a time", "occupancy", "limited by"},
              {}};
  for (const ProfileRow* row : rows) {
    bool is_first = true;
    for (const KernelCounts& kernel : row->kernels) {
      if (!kernel.resources) continue;
      if (std::exchange(is_first, false)) table.rows.push_back({{row->solution, Tone::strong}});
      const KernelResources& has = *kernel.resources;
      const Occupancy occupancy = occupancy_of(kernel, device);
      table.rows.push_back({{"  " + kernel.kernel},
                            count_cell(kernel.block[0] * kernel.block[1] * kernel.block[2]),
                            count_cell(has.registers),
                            bytes_cell(has.spilled_bytes),
                            bytes_cell(has.shared_bytes),
                            bytes_cell(kernel.shared_bytes),
                            count_cell(occupancy.blocks),
                            {fmt::format("{:.0f}%", 100 * occupancy.share)},
                            {std::string(occupancy.limit)}});
    }
  }
  return table;
}

/// "32768 (1)": what the device has counted, and how often it is what was counted here.
Cell device_cell(double device, std::uint64_t here) {
  if (std::isnan(device) || (device == 0 && here == 0)) return {"-", Tone::quiet};
  if (here == 0) return {fmt::format("{:.0f}", device), Tone::bad};
  const double share = device / static_cast<double>(here);
  return {fmt::format("{:.0f} ({:.3g})", device, share),
          std::abs(share - 1) > agreement ? Tone::bad : Tone::plain};
}

/// "1.02 MiB (1.01)". What stays in a cache is less than the footprint: that is nothing wrong.
Cell dram_cell(double device, std::uint64_t footprint) {
  if (std::isnan(device)) return {"-", Tone::quiet};
  const double share = footprint == 0 ? 0 : device / static_cast<double>(footprint);
  return {fmt::format("{} ({:.3g})", mebibytes(device), share),
          share > 1 + agreement ? Tone::bad : Tone::plain};
}

std::vector<Cell> counters_cells(const KernelCounts& kernel) {
  const DeviceCounters& device = *kernel.device_counters;
  const Traffic loads = kernel.loads_without_copies(), stores = kernel.stores(Space::global);
  return {{"  " + kernel.kernel},
          count_cell(loads.requests),
          device_cell(device.load_requests, loads.requests),
          count_cell(loads.sectors),
          device_cell(device.load_sectors, loads.sectors),
          count_cell(stores.sectors),
          device_cell(device.store_sectors, stores.sectors),
          {mebibytes(static_cast<double>(kernel.least_bytes()))},
          dram_cell(device.bytes_read + device.bytes_written, kernel.least_bytes())};
}

Table counters_table(const std::vector<const ProfileRow*>& rows) {
  Table table{{"kernel", "load requests", "device", "load sectors", "device", "store sectors",
               "device", "footprint", "dram"},
              {}};
  for (const ProfileRow* row : rows) {
    bool is_first = true;
    for (const KernelCounts& kernel : row->kernels) {
      if (!kernel.device_counters) continue;
      if (std::exchange(is_first, false)) table.rows.push_back({{row->solution, Tone::strong}});
      table.rows.push_back(counters_cells(kernel));
    }
  }
  return table;
}

std::vector<std::uint64_t> present(const LaneAddresses& lanes) {
  std::vector<std::uint64_t> addresses;
  for (const auto& address : lanes) {
    if (address) addresses.push_back(*address);
  }
  return addresses;
}

/// The distance from each lane to the next, if it is the same for all.
std::optional<std::int64_t> stride_of(const std::vector<std::uint64_t>& addresses) {
  if (addresses.size() < 2) return std::nullopt;
  const auto stride = static_cast<std::int64_t>(addresses[1] - addresses[0]);
  for (std::size_t i = 2; i < addresses.size(); ++i) {
    if (static_cast<std::int64_t>(addresses[i] - addresses[i - 1]) != stride) return std::nullopt;
  }
  return stride;
}

std::string where_of(const std::vector<std::uint64_t>& addresses, std::uint64_t width) {
  if (addresses.size() < 2) return "";
  const std::set<std::uint64_t> different(addresses.begin(), addresses.end());
  if (different.size() == 1) return ", all the same ones";
  if (const auto stride = stride_of(addresses)) {
    if (static_cast<std::uint64_t>(std::abs(*stride)) == width) return ", side by side";
    return fmt::format(", {} bytes apart", std::abs(*stride));
  }
  const std::uint64_t span = *different.rbegin() - *different.begin() + width;
  const bool side_by_side = different.size() * width == span;
  if (side_by_side && different.size() == addresses.size())
    return ", side by side in another order";
  return fmt::format(" at {} {} places", different.size(),
                     side_by_side ? "neighbouring" : "different");
}

}  // namespace

Cell ratio_cell(std::uint64_t count, std::uint64_t least, std::uint64_t requests) {
  if (requests == 0) return {"-", Tone::quiet};
  const double each = static_cast<double>(count) / static_cast<double>(requests);
  const double ideal = static_cast<double>(least) / static_cast<double>(requests);
  if (count == least) return {fmt::format("{:.3g}", each)};
  return {fmt::format("{:.3g} ({:.3g})", each, ideal), count > 2 * least ? Tone::bad : Tone::plain};
}

Cell count_cell(std::uint64_t count) {
  return count == 0 ? Cell{"-", Tone::quiet} : Cell{fmt::format("{}", count)};
}

bool LineFilter::takes(const Access& access) const {
  if (!memory.empty() && memory != name(access.space)) return false;
  return line.empty() || std::ranges::any_of(access.lines, [&](const Line& each) {
           return fmt::format("{}:{}", each.file, each.number) == line;
         });
}

std::string group_heading(const ProfileRow& row) {
  return row.work->problem + ", " + row.work->shape + ", " + std::string(name(row.work->dtype));
}

std::string group_minimum(const ProfileRow& row) {
  std::string text = "must move " + mebibytes(row.work->bytes);
  if (row.work->flops > 0) text += fmt::format(", compute {:.3g} Mflop", row.work->flops / 1e6);
  return text;
}

std::vector<Table> tables_of(const std::vector<const ProfileRow*>& rows,
                             const ProfileReport& report) {
  std::vector<Table> tables{group_table(rows, report.device), resources_table(rows, report.device),
                            counters_table(rows)};
  tables.erase(std::remove_if(tables.begin() + 1, tables.end(),
                              [](const Table& table) { return table.rows.empty(); }),
               tables.end());
  return tables;
}

std::string notes_on_counts() {
  return "s/r: sectors of 32 bytes per request of a warp, w/r: wavefronts per request (in "
         "brackets: the least).\nsectors: bytes of all requests' sectors; footprint: of each "
         "launch's different ones.\n";
}

std::string notes_on(const ProfileReport& report) {
  std::string text =
      notes_on_counts() +
      "Of a solution, these are multiples of what the problem must move. The bound is "
      "not a time: nothing was timed.\n";
  if (!report.counters_of.empty()) {
    text +=
        "device: counters of " + printable(report.counters_of, 200) +
        "; in brackets, how many times what is counted here\nthat is. dram: bytes that its "
        "memory read and wrote, behind the caches; in brackets, how many times\nthe footprint.\n";
  }
  return text;
}

std::vector<std::vector<const ProfileRow*>> groups_of(const ProfileReport& report) {
  std::vector<std::vector<const ProfileRow*>> groups;
  for (const ProfileRow& row : report.rows) {
    if (groups.empty() || groups.back().front()->work != row.work) groups.emplace_back();
    groups.back().push_back(&row);
  }
  return groups;
}

std::uint64_t cost(const Access& access) {
  return access.space == Space::global ? 32 * access.traffic.sectors
                                       : 128 * access.traffic.wavefronts;
}

std::vector<CostlyAccess> costliest(const std::vector<KernelCounts>& kernels,
                                    const LineFilter& wanted) {
  std::vector<CostlyAccess> accesses;
  for (const KernelCounts& kernel : kernels) {
    for (const Access& access : kernel.accesses) {
      if (wanted.takes(access)) accesses.push_back({&kernel, &access});
    }
  }
  std::ranges::stable_sort(accesses, std::greater(),
                           [](const CostlyAccess& each) { return cost(*each.access); });
  return accesses;
}

std::string requests_text(const Access& access) {
  return fmt::format("{} {}, {} requests", name(access.space), name(access.kind),
                     access.traffic.requests);
}

Table lines_table(const std::vector<CostlyAccess>& accesses) {
  Table table{{"kernel", "line", "access", "pattern"}, {}};
  for (const auto& [kernel, access] : accesses) {
    if (table.rows.size() == lines_shown) break;
    table.rows.push_back({{kernel->kernel},
                          {place_text(*access)},
                          {requests_text(*access)},
                          {pattern_of(*access), is_wasteful(*access) ? Tone::bad : Tone::plain}});
  }
  return table;
}

bool is_wasteful(const Access& access) { return access.worst_cost > 2 * access.worst_least; }

std::string profile_text(const ProfileReport& report, bool colour) {
  std::string text;
  for (const auto& group : groups_of(report)) {
    text += toned(group_heading(*group.front()), Tone::strong, colour) + ": " +
            group_minimum(*group.front()) + "\n";
    for (const Table& table : tables_of(group, report)) {
      text += render(table, colour, terminal_width()) + "\n";
    }
  }
  return text + toned(notes_on(report), Tone::quiet, colour);
}

std::string lines_text(const ProfileReport& report, const LineFilter& wanted, bool colour) {
  std::string text;
  for (const ProfileRow& row : report.rows) {
    const std::vector<CostlyAccess> accesses = costliest(row.kernels, wanted);
    if (accesses.empty()) continue;
    text += toned(row.solution + ": " + group_heading(row), Tone::strong, colour) + "\n";
    text += render(lines_table(accesses), colour) + "\n";
  }
  return text;
}

std::string pattern_of(const Access& access) {
  static const std::map<Kind, std::string> verbs{
      {Kind::load, "read"}, {Kind::store, "write"}, {Kind::atomic, "change"}, {Kind::copy, "copy"}};
  const std::vector<std::uint64_t> addresses = present(access.worst);
  const std::string lanes =
      addresses.size() == 1 ? "1 lane " : fmt::format("{} lanes ", addresses.size());
  std::string text = lanes + verbs.at(access.kind) + (addresses.size() == 1 ? "s " : " ") +
                     counted(access.width, "byte") + (addresses.size() == 1 ? "" : " each") +
                     where_of(addresses, access.width);
  const bool global = access.space == Space::global;
  text += ": " + counted(access.worst_cost, global ? "sector" : "wavefront");
  if (access.worst_cost > access.worst_least)
    text += fmt::format(", {} would do", access.worst_least);
  if (access.kind == Kind::atomic && access.traffic.requests > 0) {
    text += fmt::format("; {:.3g} lanes meet at one address",
                        static_cast<double>(access.traffic.at_one_address) /
                            static_cast<double>(access.traffic.requests));
  }
  return text;
}

std::string place_text(const Access& access) {
  if (access.lines.empty()) return fmt::format("at {:#x}", access.place);
  const auto text = [](const Line& line) { return fmt::format("{}:{}", line.file, line.number); };
  const auto kernel = std::ranges::find_if(
      access.lines, [](const Line& line) { return line.file.ends_with(".cu"); });
  if (kernel == access.lines.end() || kernel == access.lines.begin()) {
    return text(access.lines.front());
  }
  return text(*kernel) + ", in " + text(access.lines.front());
}

}  // namespace prenorm::harness::profile
