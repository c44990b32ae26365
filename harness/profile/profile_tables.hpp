// What the reports for a terminal and for a browser have in common, and the page with its pictures:
// of a run of `profile`, or of a program.
#pragma once

#include "profile/profile_report.hpp"
#include "base/json.hpp"
#include "report/table.hpp"

namespace prenorm::harness::profile {

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

/// A table, for the page.
Json table_json(const Table& table);

/// The pictures of a version's lines that cost most, for the page.
Json version_json(const std::string& version, const std::vector<KernelCounts>& kernels,
                  const LineFilter& wanted);

/// The page, of its title, notes and groups (templates/profile.mustache).
std::string profile_page(Json content);

/// Throws UsageError for no accesses: `wanted` is what was looked for.
void require_line(const std::vector<CostlyAccess>& accesses, const LineFilter& wanted);

/// As a file: the one that costs most. Throws UsageError for none.
std::string costliest_picture(const std::vector<CostlyAccess>& accesses, const LineFilter& wanted);

}  // namespace prenorm::harness::profile
