// The work that a grader of a class hands to other processes: a folder on a disk that all of them
// see. Each submission is graded by a process of its own, which leaves one file of results; only
// the process that holds the gradebook writes to that.
//
//   prenorm-work  marks a folder that may be removed
//   plan.json     how to grade, and the names; 0600, as the seed is in it
//   paths         of the submissions, as they were given, each ended by a zero
//   results/N     the result of submission N: complete if it exists
//   results/N.taken    it was put into the gradebook
//   results/N.failed   why a task has given it up, and the node
//   hidden/       hidden cases, drawn once, of which each submission gets other values; complete
//                 if it exists
//   tmp/          for copies and builds
#pragma once

#include "base/json.hpp"
#include "class/gradebook.hpp"

#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

struct Plan {
  Json settings;       // settings_record(), with the sandbox of the class
  std::string exam;    // exam_digest()
  std::string folder;  // that the paths start from
  std::vector<ClassSubmission> submissions;
};

/// Whether it does not exist, is empty, or was made by a grader of a class: it may be removed.
bool is_work_folder(const fs::path& folder);
/// Removes it, if a grader made it. What cannot be removed is set aside, as FOLDER.left-1: returns
/// where and why then, for whoever waits. Throws std::runtime_error where that is not possible, and
/// a plan or results are among it.
std::optional<std::string> remove_work_folder(const fs::path& folder);
/// Makes the folder and writes the plan into it. Throws std::runtime_error.
void write_plan(const fs::path& folder, const Plan& plan);
/// Nothing where there is none, or a damaged one.
std::optional<Plan> read_plan(const fs::path& folder);
/// Throws std::runtime_error if the folder no longer has this plan for the submission: a grader of
/// an earlier plan that is still running leaves nothing there.
void require_plan(const fs::path& folder, const Plan& plan, std::size_t number);

/// What a grading process leaves.
struct PlannedResult {
  std::string files, exam;  // digests of what was graded and asked
  std::string grading;      // grading_record()
};

/// The file appears at once, complete and on the disk. Throws std::runtime_error.
void write_result(const fs::path& folder, std::size_t number, const PlannedResult& result);
/// Whether it is there, or was taken.
bool has_result(const fs::path& folder, std::size_t number);
/// Removes a result that the gradebook has now; has_result() remains true.
void take_result(const fs::path& folder, std::size_t number);
/// Nothing where there is none.
std::optional<PlannedResult> read_result(const fs::path& folder, std::size_t number);

/// Why a process that grades several has given one up, and on which node of a cluster.
struct PlannedFailure {
  std::string why, node;
};

/// The file appears at once, as of write_result().
void write_failure(const fs::path& folder, std::size_t number, const PlannedFailure& failure);
std::optional<PlannedFailure> read_failure(const fs::path& folder, std::size_t number);
/// So that it is tried again.
void remove_failure(const fs::path& folder, std::size_t number);

}  // namespace prenorm::harness
