// The reports of a program that `emulate` has run.
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "profile/profile_report.hpp"
#include "profile/profile_tables.hpp"

#include <fmt/format.h>

namespace prenorm::harness::profile {
namespace {

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

std::vector<KernelCounts> program_kernels(const std::string& counts,
                                          const std::filesystem::path& program) {
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
