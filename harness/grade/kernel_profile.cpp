// What a submission's kernels do to memory: from the counts of the emulator to the reports.
#include "base/text.hpp"
#include "grade/grading_record.hpp"
#include "grade/report_parts.hpp"
#include "profile/profile_report.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

using profile::Access;
using profile::KernelCounts;
using profile::Space;
using profile::Traffic;

constexpr std::size_t most_kernels = 20;  // of a call

/// Bytes that an access moves beyond the least.
std::uint64_t wasted(const Access& access) {
  const Traffic& traffic = access.traffic;
  return access.space == Space::global ? 32 * (traffic.sectors - traffic.ideal_sectors)
                                       : 128 * (traffic.wavefronts - traffic.ideal_wavefronts);
}

std::string worst_of(const KernelCounts& counts) {
  const auto worst = std::ranges::max_element(counts.accesses, {}, wasted);
  if (worst == counts.accesses.end() || wasted(*worst) == 0) return "";
  return printable(place_text(*worst) + ": " + pattern_of(*worst), 300);
}

KernelProfile profile_of(const KernelCounts& counts) {
  Traffic global = counts.loads(Space::global);
  global.add(counts.stores(Space::global));
  global.add(counts.atomics(Space::global));
  const Traffic shared = counts.shared();
  return {printable(counts.kernel, 100),
          counts.launches,
          global.requests,
          global.sectors,
          global.ideal_sectors,
          shared.requests,
          shared.wavefronts,
          shared.ideal_wavefronts,
          worst_of(counts)};
}

std::string bytes_text(std::uint64_t bytes) {
  return fmt::format("{:.3g} KiB", static_cast<double>(bytes) / 1024);
}

/// "relu, case base_float32: moved 8 KiB, 1 times what it must".
std::string heading(const CallProfile& call) {
  std::string text = fmt::format("{}, case {}: moves {}", call.problem, call.case_name,
                                 bytes_text(call.moved_bytes()));
  if (call.least_bytes > 0) {
    text += fmt::format(
        ", {:.3g} times its inputs and outputs",
        static_cast<double>(call.moved_bytes()) / static_cast<double>(call.least_bytes));
  }
  return text;
}

std::vector<Cell> cells_of(const KernelProfile& kernel) {
  return {{printable(kernel.kernel, 100)},
          profile::count_cell(kernel.launches),
          profile::ratio_cell(kernel.sectors, kernel.ideal_sectors, kernel.requests),
          {bytes_text(kernel.moved_bytes())},
          profile::ratio_cell(kernel.wavefronts, kernel.ideal_wavefronts, kernel.shared_requests)};
}

const std::vector<std::string> columns{"kernel", "launches", "sectors per request", "moved",
                                       "wavefronts per request"};

/// What the figures mean, and that they are advice.
constexpr const char* profiles_note =
    "Advice, without points: what the kernels did to memory, counted by the emulator in the "
    "largest\n"
    "case of each problem that passed. In brackets the least possible. Wavefronts are of shared\n"
    "memory; more than the least are bank conflicts.";

}  // namespace

std::uint64_t CallProfile::moved_bytes() const {
  std::uint64_t bytes = 0;
  for (const KernelProfile& kernel : kernels) bytes += kernel.moved_bytes();
  return bytes;
}

std::uint64_t bytes_of_tensors(const Case& info) {
  std::uint64_t bytes = 0;
  const auto add = [&bytes](DType dtype, const Shape& shape) {
    bytes += static_cast<std::uint64_t>(element_count(shape)) * size_of(dtype);
  };
  for (const auto& input : info.inputs) {
    if (input) add(input->type.dtype, input->type.shape);
  }
  for (const OutputInfo& output : info.outputs) add(output.dtype, output.shape);
  return bytes;
}

std::vector<KernelProfile> kernel_profiles(const std::string& counts) try {
  std::vector<KernelCounts> kernels = profile::parse_counts(counts);
  if (kernels.size() > most_kernels) kernels.resize(most_kernels);
  profile::merge_lines(kernels);
  std::vector<KernelProfile> profiles;
  std::ranges::transform(kernels, std::back_inserter(profiles), profile_of);
  return profiles;
} catch (const std::exception&) {
  return {};
}

std::string profiles_text(const std::vector<CallProfile>& calls, bool colour) {
  if (calls.empty()) return "";
  std::string text = std::string(profiles_note) + "\n\n";
  for (const CallProfile& call : calls) {
    Table table{columns, {}};
    text += toned(printable(heading(call)), Tone::strong, colour) + "\n";
    for (const KernelProfile& kernel : call.kernels) table.rows.push_back(cells_of(kernel));
    text += render(table, colour);
    for (const KernelProfile& kernel : call.kernels) {
      if (!kernel.worst.empty()) text += "  " + printable(kernel.worst, 300) + "\n";
    }
    text += "\n";
  }
  return text;
}

Json profiles_values(const std::vector<CallProfile>& calls) {
  if (calls.empty()) return {};
  const auto of_kernel = [](const KernelProfile& kernel) -> Json {
    return {{"cells", cell_values(cells_of(kernel))}, {"worst", printable(kernel.worst, 300)}};
  };
  const auto of_call = [&](const CallProfile& call) -> Json {
    return {{"heading", printable(heading(call), 300)},
            {"kernels", array_of(call.kernels, of_kernel)}};
  };
  std::string note = profiles_note;
  std::ranges::replace(note, '\n', ' ');
  return {{"note", note}, {"columns", columns}, {"calls", array_of(calls, of_call)}};
}

Json profiles_object(const std::vector<CallProfile>& calls) {
  Json all = Json::array();
  for (const CallProfile& call : calls) {
    Json object = call;
    object["case"] = object["case_name"];
    object.erase("case_name");
    object["moved_bytes"] = call.moved_bytes();
    for (std::size_t i = 0; i < call.kernels.size(); ++i) {
      object["kernels"][i]["moved_bytes"] = call.kernels[i].moved_bytes();
    }
    all.push_back(std::move(object));
  }
  return all;
}

}  // namespace prenorm::harness
