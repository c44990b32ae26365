// The reports of a run of `profile`.
#pragma once

#include "profile/profile_run.hpp"
#include "report/table.hpp"

#include <string>
#include <vector>

namespace prenorm::harness::profile {

/// Which source lines a report tells of.
struct LineFilter {
  std::string line;    // "rmsnorm.cu:88"; empty: all
  std::string memory;  // "global", "shared"; empty: both

  bool takes(const Access& access) const;
};

/// docs/profile.md describes it.
std::string to_json(const ProfileReport& report);

/// A table of each problem's versions at each shape, for a terminal.
std::string profile_text(const ProfileReport& report, bool colour);

/// The source lines that cost most, by version; each with its access pattern in words.
std::string lines_text(const ProfileReport& report, const LineFilter& wanted, bool colour);

/// A page with the tables, and pictures of the requests of the lines that cost most.
std::string profile_html(const ProfileReport& report, const LineFilter& wanted);

/// A picture of the most expensive request of the line that costs most. Throws UsageError where
/// there is no such line.
std::string profile_svg(const ProfileReport& report, const LineFilter& wanted);

/// "32 lanes read 4 bytes each, 128 bytes apart: 32 sectors, 4 would do": the access's most
/// expensive request.
std::string pattern_of(const Access& access);

/// "rmsnorm.cu:88, in reduce.cuh:20": the innermost line of a kernel's file, and the innermost of
/// all.
std::string place_text(const Access& access);

// --- a program that `emulate` has run ---------------------------------------------------------
// The same reports, without a problem to measure its kernels by.

/// `counts` is the text that the program has written, `program` its file, which knows the lines.
/// Empty if it has not come to its end, or no kernel ran.
std::vector<KernelCounts> program_kernels(const std::string& counts, const fs::path& program);

/// Two tables: the kernels, and the lines of the source that cost most. Throws UsageError where the
/// line that is wanted has no request.
std::string program_text(const std::vector<KernelCounts>& kernels, const LineFilter& wanted,
                         bool colour);

/// The tables on a page, with pictures of the requests of the lines that cost most; `name` is the
/// program's. Throws likewise.
std::string program_html(const std::string& name, const std::vector<KernelCounts>& kernels,
                         const LineFilter& wanted);

/// A picture of the most expensive request of the line that costs most. Throws UsageError where
/// there is none.
std::string program_svg(const std::vector<KernelCounts>& kernels, const LineFilter& wanted);

/// The rows of each problem, shape and dtype, in their order.
std::vector<std::vector<const ProfileRow*>> groups_of(const ProfileReport& report);

/// "rmsnorm, rmsnorm, float32": problem, shape, dtype.
std::string group_heading(const ProfileRow& row);

/// "must move 1 MiB, compute 0.52 Mflop".
std::string group_minimum(const ProfileRow& row);

/// The tables of a group: its versions, and their kernels below each; what nvcc has given the
/// kernels; what a device has counted of them. None without rows but the first.
std::vector<Table> tables_of(const std::vector<const ProfileRow*>& rows,
                             const ProfileReport& report);

/// What the columns of any table of counts mean.
std::string notes_on_counts();

/// What the columns of the tables mean that the report has.
std::string notes_on(const ProfileReport& report);

/// What a source line does in a kernel.
struct CostlyAccess {
  const KernelCounts* kernel;
  const Access* access;
};

/// Those that cost most come first: by bytes of sectors, or of wavefronts, which are 128 each.
std::vector<CostlyAccess> costliest(const std::vector<KernelCounts>& kernels,
                                    const LineFilter& wanted);
std::uint64_t cost(const Access& access);

/// The first ones, a row each.
Table lines_table(const std::vector<CostlyAccess>& accesses);

/// "3.2 (1)": so many for each request, and how many would do; "-" without requests.
Cell ratio_cell(std::uint64_t count, std::uint64_t least, std::uint64_t requests);
/// The number; "-" for none.
Cell count_cell(std::uint64_t count);

/// "global load, 4096 requests".
std::string requests_text(const Access& access);

/// Whether its most expensive request costs more than twice the least.
bool is_wasteful(const Access& access);

}  // namespace prenorm::harness::profile
