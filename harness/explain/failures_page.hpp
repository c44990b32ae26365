// What failed, and why, on a page.
#pragma once

#include "explain/collector.hpp"
#include "report/report.hpp"

namespace prenorm::harness {

/// A page that needs nothing beside itself: the table, then for each problem and solution that
/// failed the causes and the failing cases, with numbers, pictures and commands.
std::string explained_html(const Report& report, const std::vector<Explanation>& explanations);

}  // namespace prenorm::harness
