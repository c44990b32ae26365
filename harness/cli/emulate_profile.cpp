#include "cli/emulate_profile.hpp"

#include "base/terminal.hpp"
#include "profile/profile_tables.hpp"

#include <fmt/format.h>

namespace prenorm::harness {
namespace {

using profile::count_cell;
using profile::KernelCounts;
using profile::ratio_cell;
using profile::Space;
using profile::Traffic;

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

std::string profile_of_program(const std::string& counts, const std::filesystem::path& program,
                               bool colour) {
  if (counts.empty()) return "";  // it has not come to its end
  std::vector<KernelCounts> kernels = profile::parse_counts(counts);
  if (kernels.empty()) return "";
  profile::find_lines(kernels, program);
  return render(kernels_table(kernels), colour, terminal_width()) + "\n" +
         render(profile::lines_table(profile::costliest(kernels, {})), colour) +
         toned(
             "\ns/r: sectors of 32 bytes per request of a warp, w/r: wavefronts per request (in "
             "brackets: the least).\nsectors: bytes of all requests' sectors; footprint: of "
             "each launch's different ones.\n",
             Tone::quiet, colour);
}

}  // namespace prenorm::harness
