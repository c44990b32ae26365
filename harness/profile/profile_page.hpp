// A page of counts in a browser, and its pictures of requests: of a run of `profile`, or of a
// program.
#pragma once

#include "base/json.hpp"
#include "profile/profile_tables.hpp"

namespace prenorm::harness::profile {

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
