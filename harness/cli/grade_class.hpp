// `prenorm grade` of many submissions, into a gradebook.
#pragma once

#include "grade/grader.hpp"

namespace prenorm::harness {

struct ClassOptions {
  std::string gradebook;
  std::string work;    // folder for what is not in the gradebook yet; empty: beside it
  std::string roster;  // CSV
  unsigned jobs = 1;   // submissions at a time
  unsigned retries = 2;
  bool regrade = false;

  bool slurm = false;
  std::vector<std::string> slurm_options;  // for sbatch
  std::size_t batch = 0;                   // submissions of a task; 0: by their number

  // Of the processes that this starts.
  std::string planned;                // the plan's folder
  std::optional<std::size_t> number;  // of a submission
  std::string part;                   // "2.7": of Slurm's arrays and tasks
};

/// Grades what the gradebook has not, or another version of. Returns the exit code.
int grade_class(const std::vector<std::string>& submissions, GradeSettings settings,
                const ClassOptions& options);

/// What a process of a class's grader does: one submission of a plan, or one part of it.
int grade_planned(const ClassOptions& options);

}  // namespace prenorm::harness
