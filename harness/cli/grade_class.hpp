// `prenorm grade` of many submissions, into a gradebook.
#pragma once

#include "class/class_run.hpp"

namespace prenorm::harness {

/// Grades, with progress on standard error and a summary on standard output. Returns the exit code.
int run_class(const std::vector<std::string>& submissions, const GradeSettings& settings,
              const ClassOptions& options);

}  // namespace prenorm::harness
