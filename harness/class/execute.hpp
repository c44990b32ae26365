// How a plan's submissions are graded: by processes of their own here, or by a cluster.
#pragma once

#include "class/plan.hpp"
#include "grade/grader.hpp"
#include "grade/snapshot.hpp"

#include <functional>

namespace prenorm::harness {

// ---- The sandbox of a class: decided when its first submission is graded, and the same for all

/// The member of a plan's settings and of a gradebook's that names the sandbox, "bubblewrap".
inline constexpr const char* class_sandbox = "class_sandbox";

/// The class's sandbox by that record.
std::string decided_sandbox(const Json& record);

/// Makes `settings` choose the class's sandbox. Throws UsageError where it does not work here: no
/// other one takes its place.
void keep_sandbox(GradeSettings& settings, const std::string& decided);

// ---- The side of whoever holds the gradebook

/// Called as submissions finish; never by two threads at a time.
struct Events {
  std::function<void(std::size_t number)> done;  // its result is there
  std::function<void(std::size_t number, const std::string& why)> failed;
  std::function<void()> waiting;                // now and then: time for a line of progress
  std::function<void(const std::string&)> say;  // a line for the person who waits
};

/// The command that grades a plan's submission `number`, or one part of it.
std::vector<std::string> planned_command(const fs::path& folder, const std::string& option,
                                         std::size_t number);

struct ExecuteOptions {
  unsigned jobs = 1;                       // submissions at a time; of Slurm: of a task, which gets
                                           // as many processors
  unsigned retries = 2;                    // of a process or task that dies without a result
  bool slurm = false;                      // else here
  std::vector<std::string> slurm_options;  // for sbatch
  std::size_t batch = 0;  // submissions per task of Slurm; 0: depends on how many there are
  /// A result may become visible here so long after its task has ended there: NFS keeps what it
  /// knows of a folder for up to a minute, by default.
  double seconds_until_seen = 60;
};

/// Grades them as array jobs of Slurm, whose nodes see the folder under the same path. Jobs that
/// another process has submitted from this folder are taken up; what they would grade besides these
/// numbers is ended. Throws UsageError where Slurm refuses.
void execute_on_slurm(const fs::path& folder, const std::vector<std::size_t>& numbers,
                      const ExecuteOptions& options, const Events& events);

/// Whether something of the folder was handed to Slurm; ends all of that, whose nodes may go on for
/// some seconds. Says what it ends, or how it can be ended where Slurm does not answer.
bool has_slurm_jobs(const fs::path& folder);
void cancel_slurm_jobs(const fs::path& folder, const Events& events);
/// The submissions of a task of an array; nothing if there is no such task.
std::optional<std::vector<std::size_t>> slurm_part(const fs::path& folder, std::size_t array,
                                                   std::size_t task);

/// Grades them here, `jobs` at a time, each in a process that ends when this one does. `temporary`
/// is for copies and builds.
void execute_locally(const fs::path& folder, const std::vector<std::size_t>& numbers,
                     const ExecuteOptions& options, const fs::path& temporary,
                     const Events& events);

// ---- The side of the processes that are started

/// What was handed in; where it cannot be read, the digest is the reason.
Snapshot look_at_files(const std::string& path);

/// Grades one submission of the plan in the folder. Returns the exit code. Throws UsageError where
/// there is no such plan or submission.
int grade_number(const fs::path& folder, std::size_t number);

/// Grades what a task of Slurm's has left without a result: "ARRAY.TASK", both from 0. `say` gets a
/// line for each. Returns the exit code, and throws, as grade_number() does.
int grade_part(const fs::path& folder, const std::string& part, const ExecuteOptions& options,
               const std::function<void(const std::string&)>& say);

}  // namespace prenorm::harness
