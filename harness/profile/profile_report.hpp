// The reports of a run of `profile`.
#pragma once

#include "profile/profile_run.hpp"

namespace prenorm::harness::profile {

/// docs/profile.md describes it.
std::string to_json(const ProfileReport& report);

/// A table of each problem's versions at each shape, for a terminal.
std::string profile_text(const ProfileReport& report, bool colour);

/// The source lines that cost most, by version; each with its access pattern in words.
std::string lines_text(const ProfileReport& report, bool colour);

/// "32 lanes read 4 bytes each, 128 bytes apart: 32 sectors, 4 would do": the access's most
/// expensive request.
std::string pattern_of(const Access& access);

/// "rmsnorm.cu:88, in reduce.cuh:20": the innermost line of a kernel's file, and the innermost of
/// all.
std::string place_text(const Access& access);

}  // namespace prenorm::harness::profile
