// What is asked of Slurm: its own commands, by the options that its manuals promise.
#pragma once

#include "base/process.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace prenorm::harness {

/// A task of a job array.
struct SlurmTask {
  std::string state;   // "RUNNING", "NODE_FAIL", ...
  std::string node;    // empty before it has one
  std::string reason;  // "TimeLimit", "NodeDown", "None", ...

  /// It may still run, now or later: nothing is decided.
  bool to_come() const;
};

/// Throws UsageError for words that sbatch may not be given: what is no option, and options that
/// would have another job, or another answer, than is asked for.
void check_slurm_options(const std::vector<std::string>& options);

/// The nodes that such words exclude, as they name them: "node1", "node[2-4],node7".
std::vector<std::string> excluded_by(const std::vector<std::string>& options);

/// Its commands. Each throws UsageError where there is no such command.
class Slurm {
 public:
  /// `log` is a file for what its commands say on standard error.
  explicit Slurm(fs::path log) : log_(std::move(log)) {}

  /// Whether there is a sbatch: where not, what each of these throws.
  void require();

  /// Hands a script over as an array job with tasks 0 to `tasks` - 1; returns its number, with
  /// ";cluster" behind it where Slurm names one. Nothing: Slurm cannot be reached just now. Throws
  /// UsageError, with what sbatch says, where it refuses.
  std::optional<std::string> submit(const fs::path& script, const std::string& name,
                                    std::size_t tasks, const fs::path& logs,
                                    const std::vector<std::string>& options);
  /// The number of this user's job of that name; empty: there is none. Nothing: no answer.
  std::optional<std::string> find(const std::string& name);

  using Tasks = std::map<std::pair<std::string, std::size_t>, SlurmTask>;  // by job and index
  /// All tasks of these jobs (numbers, with their names) that Slurm still knows of: ended ones are
  /// forgotten after some time. Nothing: it does not answer; see message().
  std::optional<Tasks> tasks(const std::map<std::string, std::string>& jobs);

  /// Ends a job; `job` may be empty where the number is not known. Whether that was taken.
  bool cancel(const std::string& job, const std::string& name);

  /// What the last command wrote to standard error, on one line.
  std::string message() const;

 private:
  CommandOutput run(const std::vector<std::string>& command) const;
  fs::path log_;
};

}  // namespace prenorm::harness
