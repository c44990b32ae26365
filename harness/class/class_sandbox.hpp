// The sandbox of a class: decided when its first submission is graded, and the same for all.
#pragma once

#include "grade/grader.hpp"

#include <string>

namespace prenorm::harness {

/// The member of a plan's settings and of a gradebook's that names the sandbox, "bubblewrap".
inline constexpr const char* class_sandbox = "class_sandbox";

/// The class's sandbox by that record; empty where nothing was decided yet.
std::string decided_sandbox(const Json& record);

/// Makes `settings` choose the class's sandbox, if there is one. Throws UsageError where it does
/// not work here: no other one takes its place.
void keep_sandbox(GradeSettings& settings, const std::string& decided);

}  // namespace prenorm::harness
