// The reports of a run of `profile`.
#pragma once

#include "profile/profile_run.hpp"

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

}  // namespace prenorm::harness::profile
