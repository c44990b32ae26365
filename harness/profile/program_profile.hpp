// What the kernels of a program that `emulate` has run did to memory: the same reports as of a
// solution, without a problem to measure them by.
#pragma once

#include "profile/counts.hpp"
#include "profile/profile_report.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace prenorm::harness::profile {

/// `counts` is the text that the program has written, `program` its file, which knows the lines.
/// Empty if it has not come to its end, or no kernel ran.
std::vector<KernelCounts> program_kernels(const std::string& counts,
                                          const std::filesystem::path& program);

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

}  // namespace prenorm::harness::profile
