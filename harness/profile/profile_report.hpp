// The reports of a run of `profile`.
#pragma once

#include "profile/profile_run.hpp"

#include <filesystem>
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
