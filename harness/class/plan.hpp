// The work that a grader of a class hands to other processes: a folder on a disk that all of them
// see. Each submission is graded by a process of its own, which leaves one file of results; only
// the process that holds the gradebook writes to that.
//
//   prenorm-work  says that all of this may be removed
//   plan.json     how to grade, and the names; 0600, as the seed is in it
//   paths         of the submissions, as they were given, each ended by a zero
//   results/N     what came of submission N: complete where it is there
//   results/N.taken    that stands in the gradebook
//   results/N.failed   why a task has given it up, and the node
//   hidden/       the hidden cases, drawn once; complete where it is there
//   tmp/          for copies and builds
#pragma once

#include "base/json.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prenorm::harness {

struct PlannedSubmission {
  std::string name;
  std::string path;   // any bytes; from the folder that the grader was started in
  std::string files;  // digest
  std::optional<std::int64_t> changed = {};  // when these were last, in seconds since 1970
};

struct Plan {
  Json settings;       // cli/grade.hpp
  std::string exam;    // digest of what is asked
  std::string folder;  // that the paths start from
  std::vector<PlannedSubmission> submissions;
};

/// Whether nothing is there, or only what graders of a class put there: it may be removed.
bool is_work_folder(const std::filesystem::path& folder);
/// Removes it, if a grader made it. What cannot be removed is set aside, as FOLDER.left-1: returns
/// where and why then, for whoever waits. Throws std::runtime_error where that is not possible, and
/// a plan or results are among it.
std::optional<std::string> remove_work_folder(const std::filesystem::path& folder);
/// Makes the folder and writes the plan into it. Throws std::runtime_error.
void write_plan(const std::filesystem::path& folder, const Plan& plan);
/// Nothing where there is none, or a damaged one.
std::optional<Plan> read_plan(const std::filesystem::path& folder);
/// Throws std::runtime_error where the folder does not hold this plan any more, as far as a
/// submission goes: what was begun by an earlier plan and was not ended leaves nothing there.
void require_plan(const std::filesystem::path& folder, const Plan& plan, std::size_t number);

/// What a grading process leaves.
struct PlannedResult {
  std::string files, exam;  // digests of what was graded and asked
  std::string grading;      // grade/record.hpp
};

std::filesystem::path result_file(const std::filesystem::path& folder, std::size_t number);
/// The file appears at once, complete and on the disk. Throws std::runtime_error.
void write_result(const std::filesystem::path& folder, std::size_t number,
                  const PlannedResult& result);
/// Whether it is there, or was taken.
bool has_result(const std::filesystem::path& folder, std::size_t number);
/// Removes what stands in the gradebook now; has_result() goes on to be true.
void take_result(const std::filesystem::path& folder, std::size_t number);
/// Nothing where there is none.
std::optional<PlannedResult> read_result(const std::filesystem::path& folder, std::size_t number);

/// Why there is none, where a process that grades several has given one up; and on which node of a
/// cluster, where it was on one.
struct PlannedFailure {
  std::string why, node;
};

/// The file appears at once, likewise.
void write_failure(const std::filesystem::path& folder, std::size_t number,
                   const PlannedFailure& failure);
std::optional<PlannedFailure> read_failure(const std::filesystem::path& folder, std::size_t number);
/// It is to be tried again.
void remove_failure(const std::filesystem::path& folder, std::size_t number);

}  // namespace prenorm::harness
