#include "grade/slurm.hpp"

#include "cli/command.hpp"
#include "printable.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/wait.h>

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

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool SlurmTask::to_come() const {
  return std::ranges::find(states_to_come, state) != states_to_come.end();
}

int Slurm::run(const std::vector<std::string>& command, std::string& output) {
  output.clear();
  const std::string line = shell_line(command) + " </dev/null 2>" + shell_word(log_.string());
  std::FILE* pipe = ::popen(line.c_str(), "re");
  if (pipe == nullptr) return -1;
  std::array<char, 4096> part;
  std::size_t got = 0;
  while ((got = std::fread(part.data(), 1, part.size(), pipe)) > 0) output.append(part.data(), got);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Slurm::said() const {
  std::ifstream file(log_);
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.erase(text.find_last_not_of("\n ") + 1);
  return printable(text, 600);
}

std::optional<std::string> Slurm::submit(const std::filesystem::path& script,
                                         const std::string& name, std::size_t tasks,
                                         const std::filesystem::path& logs,
                                         const std::vector<std::string>& options) {
  // The last of two alike holds. A task that died is ours to submit again, as that can be counted.
  std::vector<std::string> command{"sbatch", "--no-requeue", "--export=ALL"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(),
                 {"--parsable", "--array=0-" + std::to_string(tasks - 1), "--job-name=" + name,
                  "--output=" + (logs / "%a.log").string(), "--input=/dev/null", script.string()});
  std::string output;
  const int code = run(command, output);
  if (code == 0 && !first_line(output).empty()) return first_line(output);
  const std::string said = this->said();
  if (code == 127) {
    throw UsageError("--executor slurm: there is no sbatch here (Debian's package slurm-client)");
  }
  if (said.find("Unable to contact slurm controller") != said.npos ||
      said.find("Socket timed out") != said.npos) {
    return std::nullopt;
  }
  throw UsageError("Slurm does not take the job: " + (said.empty() ? "no reason given" : said));
}

std::optional<std::string> Slurm::find(const std::string& name) {
  std::string output;
  run({"squeue", "-h", "-t", "all", "--me", "--name=" + name, "-o", "%F"}, output);
  const std::string job = first_line(output);
  return job.empty() ? std::nullopt : std::optional(job);
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
    std::string output;
    // Of a single job that it has forgotten Slurm says so; of several it leaves those out.
    if (run(command, output) != 0 && said().find("Invalid job id") == std::string::npos) {
      return std::nullopt;
    }
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
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

void Slurm::cancel(const std::string& job) {
  const auto [number, cluster] = split_cluster(job);
  std::vector<std::string> command{"scancel", number};
  add_cluster(command, cluster);
  std::string output;
  run(command, output);
}

}  // namespace prenorm::harness
