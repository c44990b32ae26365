// What a process does that a grader of a class starts.
#pragma once

#include "class/execute.hpp"

namespace prenorm::harness {

/// A digest of what was handed in; the reason where it cannot be read.
std::string files_digest(const std::string& path);

/// Grades one submission of the plan in the folder. Returns the exit code. Throws UsageError where
/// there is no such plan or submission.
int grade_number(const std::filesystem::path& folder, std::size_t number);

/// Grades what a task of Slurm's has left without a result: "ARRAY.TASK", both from 0. `say` gets a
/// line for each. Likewise.
int grade_part(const std::filesystem::path& folder, const std::string& part,
               const ExecuteOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace prenorm::harness
