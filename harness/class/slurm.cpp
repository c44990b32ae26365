#include "class/slurm.hpp"

#include "base/files.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace prenorm::harness {
namespace {

// squeue's manual, "job state codes". COMPLETING hides what it will be.
constexpr std::array<std::string_view, 15> states_to_come{
    "PENDING",      "CONFIGURING", "RUNNING",      "SUSPENDED",     "REQUEUED",
    "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESIZING",      "SIGNALING",
    "STAGE_OUT",    "STOPPED",     "COMPLETING",   "POWER_UP_NODE", "RESV_DEL_HOLD"};

/// "12" and "there" of "12;there".
std::pair<std::string, std::string> split_cluster(const std::string& job) {
  const std::size_t at = job.find(';');
  if (at == job.npos) return {job, ""};
  return {job.substr(0, at), job.substr(at + 1)};
}

void add_cluster(std::vector<std::string>& command, const std::string& cluster) {
  if (!cluster.empty()) command.insert(command.end(), {"-M", cluster});
}

/// The first line that begins with a job's number: clusters may put lines of their own before it.
std::string job_number_in(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    if (!line.empty() && line.find_first_not_of("0123456789") == line.find_first_of(";")) {
      return line;
    }
  }
  return "";
}

/// A folder as sbatch takes it in names of files, where %j is the job's number.
std::string pattern_of(const fs::path& folder) {
  std::string pattern;
  for (const char each : folder.string()) pattern += each == '%' ? "%%" : std::string(1, each);
  return pattern;
}

/// What sbatch says where it could not ask, or hear an answer; all else is a refusal.
constexpr std::array<std::string_view, 5> no_answers{
    "Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted",
    "in standby mode", "Connection refused"};

struct TakenOption {
  std::string_view name;
  char letter;  // 0: none
  std::string_view why;
};

constexpr std::string_view ours = "is set by prenorm";
constexpr std::array<TakenOption, 13> taken_options{{
    {"array", 'a', ours},
    {"output", 'o', ours},
    {"input", 'i', ours},
    {"job-name", 'J', ours},
    {"parsable", 0, ours},
    {"wrap", 0, ours},
    {"wait", 'W', "is done by this command"},
    {"clusters", 'M', "is not known to squeue then: set SLURM_CLUSTERS"},
    {"test-only", 0, "submits nothing"},
    {"help", 'h', "submits nothing"},
    {"usage", 0, "submits nothing"},
    {"version", 'V', "submits nothing"},
    {"uid", 0, "is another user, who cannot read the folder of the work"},
}};

/// Whether sbatch takes the word, "--out=x" or "-ox", for that option: the beginning of a long
/// one's name is enough.
bool means(std::string_view word, const TakenOption& option) {
  if (!word.starts_with("--")) return option.letter != 0 && word[1] == option.letter;
  const std::string_view name = word.substr(2, word.find('=') - 2);
  return name.size() > 1 && option.name.starts_with(name);
}

}  // namespace

bool SlurmTask::to_come() const {
  return std::ranges::find(states_to_come, state) != states_to_come.end();
}

void check_slurm_options(const std::vector<std::string>& options) {
  for (const std::string& word : options) {
    if (word.size() < 2 || word[0] != '-' || word == "--") {
      throw UsageError("--slurm-option=" + word +
                       ": no option of sbatch in one word, as --slurm-option=--partition=short");
    }
    for (const TakenOption& option : taken_options) {
      if (!means(word, option)) continue;
      throw UsageError("--slurm-option=" + word + ": --" + std::string(option.name) + " " +
                       std::string(option.why));
    }
  }
}

std::vector<std::string> excluded_by(const std::vector<std::string>& options) {
  std::vector<std::string> nodes;
  for (const std::string& word : options) {
    if (!means(word, {"exclude", 'x', ""})) continue;
    nodes.push_back(word.substr(word.starts_with("--") ? word.find('=') + 1 : 2));
  }
  return nodes;
}

CommandOutput Slurm::run(const std::vector<std::string>& command) const {
  CommandOutput output =
      command_output(posix_line(command) + " </dev/null 2>" + posix_word(log_.string()));
  constexpr int no_such_command = 127;  // says the shell
  if (output.exit_code == no_such_command) {
    throw UsageError("there is no " + command.front() + " here (Debian's package slurm-client)");
  }
  return output;
}

void Slurm::require() { run({"sbatch", "--version"}); }

std::string Slurm::message() const {
  std::string text = read_whole(log_).value_or("");
  text.erase(text.find_last_not_of("\n ") + 1);
  return printable(joined(lines_of(text), "; "), 600);
}

std::optional<std::string> Slurm::submit(const fs::path& script, const std::string& name,
                                         std::size_t tasks, const fs::path& logs,
                                         const std::vector<std::string>& options) {
  // The last of two alike holds. A task that died is ours to submit again, as that can be counted.
  std::vector<std::string> command{"sbatch", "--no-requeue", "--export=ALL"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"--parsable", "--array=0-" + std::to_string(tasks - 1),
                                 "--job-name=" + name, "--output=" + pattern_of(logs) + "/%a.log",
                                 "--input=/dev/null", script.string()});
  const CommandOutput output = run(command);
  const std::string number = job_number_in(output.text);
  if (output.exit_code == 0 && !number.empty()) return number;
  const std::string text = message();
  const auto has = [&](std::string_view words) { return text.find(words) != text.npos; };
  if (std::ranges::any_of(no_answers, has)) return std::nullopt;
  throw UsageError("Slurm does not take the job: " + (text.empty() ? "no reason given" : text));
}

std::optional<std::string> Slurm::find(const std::string& name) {
  const CommandOutput output =
      run({"squeue", "-h", "-t", "all", "--me", "--name=" + name, "-o", "%F"});
  if (output.exit_code != 0) return std::nullopt;
  return job_number_in(output.text);
}

std::optional<Slurm::Tasks> Slurm::tasks(const std::map<std::string, std::string>& jobs) {
  std::map<std::string, std::vector<std::string>> clusters;
  for (const auto& [job, name] : jobs) {
    const auto [number, cluster] = split_cluster(job);
    clusters[cluster].push_back(number);
  }
  Tasks tasks;
  for (const auto& [cluster, numbers] : clusters) {
    std::vector<std::string> command{
        "squeue", "-h", "-r", "-t", "all", "-j", joined(numbers, ","), "-o", "%F|%K|%T|%N|%j|%r"};
    add_cluster(command, cluster);
    const CommandOutput output = run(command);
    // Of a single job that it has forgotten Slurm says so; of several it leaves those out.
    if (output.exit_code != 0 && message().find("Invalid job id") == std::string::npos) {
      return std::nullopt;
    }
    for (const std::string& line : lines_of(output.text)) {
      std::istringstream fields(line);
      std::string job, index, name;
      SlurmTask task;
      if (!std::getline(fields, job, '|') || !std::getline(fields, index, '|') ||
          !std::getline(fields, task.state, '|') || !std::getline(fields, task.node, '|') ||
          !std::getline(fields, name, '|')) {
        continue;  // a line about the cluster
      }
      std::getline(fields, task.reason);
      if (!cluster.empty()) job += ";" + cluster;
      const auto asked = jobs.find(job);
      if (asked == jobs.end() || asked->second != name) continue;  // a number given out again
      tasks[{job, std::strtoull(index.c_str(), nullptr, 10)}] = task;
    }
  }
  return tasks;
}

bool Slurm::cancel(const std::string& job, const std::string& name) {
  const auto [number, cluster] = split_cluster(job);
  std::vector<std::string> command{"scancel", "--name=" + name};
  if (!number.empty()) command.push_back(number);
  add_cluster(command, cluster);
  return run(command).exit_code == 0;
}

}  // namespace prenorm::harness
