#include "cli/emulate_profile.hpp"

#include "base/terminal.hpp"
#include "profile/profile_report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

using profile::Access;
using profile::KernelCounts;
using profile::Space;
using profile::Traffic;

constexpr std::size_t lines_shown = 12;

/// "3.2 (1)": so many for each request, and how many would do.
Cell each_cell(std::uint64_t count, std::uint64_t least, std::uint64_t requests) {
  if (requests == 0) return {"-", Tone::quiet};
  const auto each = [&](std::uint64_t all) {
    return static_cast<double>(all) / static_cast<double>(requests);
  };
  if (count == least) return {fmt::format("{:.3g}", each(count))};
  return {fmt::format("{:.3g} ({:.3g})", each(count), each(least)),
          count > 2 * least ? Tone::bad : Tone::plain};
}

Cell count_cell(std::uint64_t count) {
  return count == 0 ? Cell{"-", Tone::quiet} : Cell{fmt::format("{}", count)};
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
                          each_cell(loads.sectors, loads.ideal_sectors, loads.requests),
                          each_cell(stores.sectors, stores.ideal_sectors, stores.requests),
                          {kibibytes(32 * (loads.sectors + stores.sectors))},
                          {kibibytes(kernel.least_bytes())},
                          each_cell(shared.wavefronts, shared.ideal_wavefronts, shared.requests),
                          count_cell(kernel.barriers),
                          count_cell(kernel.shuffles())});
  }
  return table;
}

/// Bytes of sectors, or of wavefronts, which are 128 each.
std::uint64_t cost(const Access& access) {
  return access.space == Space::global ? 32 * access.traffic.sectors
                                       : 128 * access.traffic.wavefronts;
}

Table lines_table(const std::vector<KernelCounts>& kernels) {
  std::vector<std::pair<const KernelCounts*, const Access*>> accesses;
  for (const KernelCounts& kernel : kernels) {
    for (const Access& access : kernel.accesses) accesses.emplace_back(&kernel, &access);
  }
  std::ranges::stable_sort(accesses, std::greater(),
                           [](const auto& each) { return cost(*each.second); });
  if (accesses.size() > lines_shown) accesses.resize(lines_shown);
  Table table{{"kernel", "line", "access", "pattern"}, {}};
  for (const auto& [kernel, access] : accesses) {
    const bool wasteful = access->worst_cost > 2 * access->worst_least;
    table.rows.push_back({{kernel->kernel},
                          {profile::place_text(*access)},
                          {fmt::format("{} {}, {} requests", name(access->space),
                                       name(access->kind), access->traffic.requests)},
                          {profile::pattern_of(*access), wasteful ? Tone::bad : Tone::plain}});
  }
  return table;
}

}  // namespace

std::string profile_of_program(const std::string& counts, const std::filesystem::path& program,
                               bool colour) {
  if (counts.empty()) return "";  // it has not come to its end
  std::vector<KernelCounts> kernels = profile::parse_counts(counts);
  if (kernels.empty()) return "";
  profile::find_lines(kernels, program);
  return render(kernels_table(kernels), colour, terminal_width()) + "\n" +
         render(lines_table(kernels), colour) +
         toned(
             "\ns/r: sectors of 32 bytes per request of a warp, w/r: wavefronts per request (in "
             "brackets: the least).\nsectors: bytes of all requests' sectors; footprint: of "
             "each launch's different ones.\n",
             Tone::quiet, colour);
}

}  // namespace prenorm::harness
