// The plan's submissions as array jobs. What was handed to Slurm stands in the work folder:
//
//   slurm.json       the arrays: name, number, and which submissions each of their tasks grades
//   array-N/         script and logs of array N
//
// so that another process can take a running job up. A submission is done when its result exists,
// whatever Slurm reports about its task. A task that ended without all of its results has died; its
// remaining submissions go into another array. A submission that a task has given up also goes into
// another array, which excludes that task's node, as the node may be the cause.
#include "base/files.hpp"
#include "base/paths.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "class/execute.hpp"
#include "class/plan.hpp"
#include "class/slurm.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <random>
#include <set>
#include <thread>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<std::size_t>;

constexpr std::size_t most_tasks_of_array = 1000;  // Slurm's own default
constexpr std::size_t tasks_wanted = 32;           // so that a cluster has something to spread
constexpr std::size_t most_of_a_task = 30;         // submissions: minutes
constexpr auto between_looks = std::chrono::seconds(2);
/// How long to wait for other nodes that Slurm reports as unavailable.
constexpr auto until_hopeless = std::chrono::seconds(60);

struct Array {
  std::string name;
  std::string job;               // empty: not yet known to be taken
  std::vector<Numbers> tasks;    // the submissions of each
  std::set<std::string> not_on;  // nodes on which these have failed

  bool has(std::size_t number) const {
    return std::ranges::any_of(
        tasks, [number](const Numbers& task) { return std::ranges::count(task, number) > 0; });
  }
};

PRENORM_JSON_WITH_RARE(Array, (name, job, tasks), not_on)

/// The nodes that the user excludes, and these: of two such options sbatch takes the last.
std::string excluded(const std::vector<std::string>& options, const std::set<std::string>& nodes) {
  std::vector<std::string> all = excluded_by(options);
  all.insert(all.end(), nodes.begin(), nodes.end());
  return joined(all, ",");
}

std::vector<Array> read_arrays(const fs::path& folder) try {
  const std::optional<std::string> text = read_whole(folder / "slurm.json");
  return text ? parse_json(*text).get<std::vector<Array>>() : std::vector<Array>{};
} catch (const Json::exception&) {
  return {};  // it was written as a whole, so the disk has lost it
}

void write_arrays(const fs::path& folder, const std::vector<Array>& arrays) {
  write_whole(folder / "slurm.json", Json(arrays).dump() + "\n");
}

std::vector<Numbers> cut(const Numbers& numbers, std::size_t size) {
  std::vector<Numbers> parts;
  for (std::size_t at = 0; at < numbers.size(); at += size) {
    const auto end = std::min(numbers.size(), at + size);
    parts.emplace_back(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                       numbers.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return parts;
}

/// Slurm may have an array whose number is not known here; its name is unique.
void cancel(Slurm& slurm, const Array& array, const Events& events) {
  const std::string job = array.job.empty() ? array.name : array.job;
  std::string why;
  try {
    if (slurm.cancel(array.job, array.name)) {
      if (!array.job.empty()) events.say("ends Slurm's job " + job);
      return;
    }
    why = slurm.message();
  } catch (const UsageError& error) {
    why = error.what();
  }
  events.say("cannot end Slurm's job " + job + " (" + why +
             "); by hand: scancel --name=" + array.name);
}

class Execution {
 public:
  Execution(const fs::path& folder, const Numbers& numbers, const ExecuteOptions& options,
            const Events& events)
      : folder_(fs::absolute(folder)),
        options_(options),
        events_(events),
        slurm_(folder_ / "slurm.log"),
        arrays_(read_arrays(folder_)),
        open_(numbers.begin(), numbers.end()) {}

  void run() {
    take_up();
    if (open_.empty() && !arrays_.empty()) look();
    while (!open_.empty()) {
      submit_waiting();
      look();
      if (open_.empty()) break;
      events_.waiting();
      std::this_thread::sleep_for(between_looks);
    }
    end_others();
  }

 private:
  /// What an earlier process has submitted continues; the rest is to be submitted.
  void take_up() {
    std::set<std::size_t> known;
    for (const Array& array : arrays_) {
      const std::size_t before = known.size();
      for (const std::size_t number : open_) {
        if (array.has(number)) known.insert(number);
      }
      if (known.size() == before || array.job.empty()) continue;
      events_.say(fmt::format("takes Slurm's job {} up again: {} left", array.job,
                              counted(known.size() - before, "submission")));
    }
    for (const std::size_t number : open_) {
      if (!known.contains(number)) waiting_.push_back(number);
    }
  }

  /// How often a submission was handed to Slurm.
  std::size_t trials(std::size_t number) const {
    const auto count =
        std::ranges::count_if(arrays_, [=](const Array& array) { return array.has(number); });
    return static_cast<std::size_t>(count);
  }

  /// Fewer per task at each trial, so that a submission that uses up its task's time cannot keep
  /// the others from being graded.
  std::size_t size_of_task() const {
    std::size_t trial = 0;
    for (const std::size_t number : waiting_) trial = std::max(trial, trials(number));
    std::size_t size = options_.batch;
    if (size == 0) {
      size = std::clamp<std::size_t>((waiting_.size() + tasks_wanted - 1) / tasks_wanted, 1,
                                     most_of_a_task);
      size = std::max<std::size_t>(size, options_.jobs);
    }
    if (trial == 1) size = (size + 3) / 4;
    if (trial > 1) size = 1;
    return std::max(size, (waiting_.size() + most_tasks_of_array - 1) / most_tasks_of_array);
  }

  /// Hands over what waits. An array that is written down and has no number yet is one that Slurm
  /// could not be reached for, or that an earlier process did not live to hear of.
  void submit_waiting() {
    const bool begun = !arrays_.empty() && arrays_.back().job.empty();
    // A task that Slurm reported as lost may have graded them meanwhile.
    std::erase_if(waiting_, [&](std::size_t number) { return !open_.contains(number); });
    if (!begun && waiting_.empty()) return;
    if (!begun) {
      // An array has submissions that exclude the same nodes.
      const std::set<std::string> not_on = nodes_[waiting_.front()];
      const auto others = std::ranges::stable_partition(
          waiting_, [&](std::size_t number) { return nodes_[number] == not_on; });
      const Numbers later(others.begin(), others.end());
      waiting_.erase(others.begin(), others.end());
      arrays_.push_back({fmt::format("prenorm-{:08x}", std::random_device()()), "",
                         cut(waiting_, size_of_task()), not_on});
      waiting_ = later;
      write_arrays(folder_, arrays_);  // first, so that no job is forgotten
    }
    Array& array = arrays_.back();
    std::optional<std::string> job;
    if (begun) {
      job = slurm_.find(array.name);
      if (!job) return say_silent();
    }
    if (!job || job->empty()) {
      const Array refused = array;
      try {
        job = submit(array, arrays_.size() - 1);
      } catch (const UsageError& error) {
        if (refused.not_on.empty()) throw;
        for (const Numbers& task : refused.tasks) give_up(task, error.what());
        return;
      }
    }
    if (!job) return say_silent();
    array.job = *job;
    write_arrays(folder_, arrays_);
    std::size_t count = 0;
    for (const Numbers& task : array.tasks) count += task.size();
    events_.say(fmt::format(
        "Slurm's job {}: {} in {} (ending this command leaves it running, and the same command "
        "takes it up again; scancel {} ends it)",
        *job, counted(count, "submission"), counted(array.tasks.size(), "task"), *job));
  }

  std::optional<std::string> submit(const Array& array, std::size_t number) {
    const fs::path place = folder_ / fmt::format("array-{}", number);
    fs::create_directories(place);
    // After all retries on one node, it is tried once on each other node.
    write_whole(place / "task.sh", script(number, array.not_on.empty() ? options_.retries : 0));
    std::vector<std::string> options{"--cpus-per-task=" + std::to_string(options_.jobs)};
    options.insert(options.end(), options_.slurm_options.begin(), options_.slurm_options.end());
    if (!array.not_on.empty()) {
      options.push_back("--exclude=" + excluded(options_.slurm_options, array.not_on));
    }
    try {
      return slurm_.submit(place / "task.sh", array.name, array.tasks.size(), place, options);
    } catch (const UsageError&) {
      // Another attempt may have other options.
      arrays_.pop_back();
      write_arrays(folder_, arrays_);
      throw;
    }
  }

  std::string script(std::size_t array, unsigned retries) const {
    std::vector<std::string> command = planned_command(folder_, "--part", array);
    const std::string last = command.back();
    command.pop_back();
    return "#!/bin/sh\nexport PRENORM_HOME=" + posix_word(fs::absolute(home()).string()) +
           "\nexec " + posix_line(command) + " " + last + ".$SLURM_ARRAY_TASK_ID --jobs " +
           std::to_string(options_.jobs) + " --retries " + std::to_string(retries) + "\n";
  }

  void say_silent() {
    if (!silent_) events_.say("Slurm does not answer, and is asked again: " + slurm_.message());
    silent_ = true;
  }

  /// Slurm is asked before results are looked for: a task that ends in between has left its
  /// results.
  void look() {
    std::map<std::string, std::string> jobs;
    for (const Array& array : arrays_) {
      if (!array.job.empty()) jobs[array.job] = array.name;
    }
    std::optional<Slurm::Tasks> tasks;
    if (!jobs.empty()) tasks = slurm_.tasks(jobs);
    if (!jobs.empty() && !tasks) say_silent();
    if (tasks && silent_) events_.say("Slurm answers again");
    if (tasks) silent_ = false;
    if (tasks) known_ = *tasks;
    for (auto each = open_.begin(); each != open_.end();) {
      const std::size_t number = *each;
      const std::optional<PlannedFailure> failure = read_failure(folder_, number);
      if (has_result(folder_, number)) {
        each = open_.erase(each);
        events_.done(number);
      } else if (failure && !is_for_others(number, *failure)) {
        each = open_.erase(each);
        fail(number, failure->why);
      } else {
        ++each;
      }
    }
    std::erase_if(given_up_, [this](std::size_t number) {
      const bool is_late = has_result(folder_, number);
      if (is_late) events_.done(number);
      return is_late;
    });
    if (!tasks) return;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      if (arrays_[a].job.empty()) continue;
      for (std::size_t k = 0; k < arrays_[a].tasks.size(); ++k) look_at_task(a, k, *tasks);
    }
  }

  /// Nobody tries it again, but its result may still come.
  void fail(std::size_t number, const std::string& why) {
    given_up_.insert(number);
    events_.failed(number, why);
  }

  /// Whether other nodes are to try what failed on one.
  bool is_for_others(std::size_t number, const PlannedFailure& failure) {
    if (failure.node.empty() || trials(number) > options_.retries) return false;
    std::set<std::string>& nodes = nodes_[number];
    for (const Array& array : arrays_) {  // also those of an earlier process
      if (array.has(number)) nodes.insert(array.not_on.begin(), array.not_on.end());
    }
    nodes.insert(failure.node);
    failures_[number] = failure.why;
    remove_failure(folder_, number);
    waiting_.push_back(number);
    events_.say("1 submission failed on " + failure.node + " (" + failure.why +
                "); submitted again for other nodes");
    return true;
  }

  /// For submissions that no other node can take.
  void give_up(const Numbers& numbers, const std::string& why) {
    for (const std::size_t number : numbers) {
      if (open_.erase(number) == 0) continue;
      const auto known = failures_.find(number);
      fail(number,
           (known == failures_.end() ? "failed" : known->second) + " on " +
               joined(std::vector<std::string>(nodes_[number].begin(), nodes_[number].end())) +
               "; for other nodes: " + why);
    }
  }

  /// Whether an array waits for nodes that are unavailable, and may use no other.
  bool is_hopeless(std::size_t a, const SlurmTask& task) {
    const auto says = [&task](const char* word) {
      return task.reason.find(word) != task.reason.npos;
    };
    // Other jobs end.
    const bool busy = says("higher priority") || says("eserved");
    const bool away = task.state == "PENDING" && !busy && (says("ReqNodeNotAvail") || says("DOWN"));
    if (arrays_[a].not_on.empty() || !away) {
      away_.erase(a);
      return false;
    }
    const auto since = away_.try_emplace(a, Clock::now()).first->second;
    return Clock::now() - since > until_hopeless;
  }

  void look_at_task(std::size_t a, std::size_t k, const Slurm::Tasks& tasks) {
    if (buried_.contains({a, k})) return;
    Numbers left;
    for (const std::size_t number : arrays_[a].tasks[k]) {
      if (open_.contains(number)) left.push_back(number);
    }
    if (left.empty()) {
      buried_.insert({a, k});
      return;
    }
    const auto found = tasks.find({arrays_[a].job, k});
    if (found != tasks.end() && is_hopeless(a, found->second)) {
      buried_.insert({a, k});
      return give_up(left, "Slurm has none that is up");  // end_others() ends the job
    }
    if (found != tasks.end() && found->second.to_come()) return;
    const auto [ended, is_new] = ended_.try_emplace({a, k}, Clock::now());
    const std::chrono::duration<double> since = Clock::now() - ended->second;
    if (is_new || since.count() < options_.seconds_until_seen) return;
    buried_.insert({a, k});
    std::string how = fmt::format("task {}_{} of Slurm", arrays_[a].job, k);
    if (found == tasks.end()) {
      how += ": no longer known to Slurm";
    } else {
      const SlurmTask& task = found->second;
      if (!task.node.empty()) how += " on " + task.node;
      how += ": " + task.state;
      if (!task.reason.empty() && task.reason != "None") how += " (" + task.reason + ")";
      if (task.state == "FAILED") how += last_words(a, k);
    }
    // A job that somebody has cancelled is not submitted again.
    bury(left, how, found != tasks.end() && found->second.state == "CANCELLED");
  }

  /// The last line of the log of a task that failed by itself.
  std::string last_words(std::size_t a, std::size_t k) const {
    const fs::path log = folder_ / fmt::format("array-{}", a) / fmt::format("{}.log", k);
    std::string text = read_whole(log).value_or("");
    text.erase(text.find_last_not_of("\n ") + 1);
    if (text.empty()) {
      return ", and nothing in " + log.string() + " (do the nodes see that folder?)";
    }
    return ": " + text.substr(text.rfind('\n') + 1);
  }

  /// After a task has died: what it has not graded is submitted again or given up.
  void bury(const Numbers& left, const std::string& how, bool for_good) {
    std::size_t again = 0, given_up = 0;
    for (const std::size_t number : left) {
      if (submitted_since(number) || std::ranges::count(waiting_, number) > 0) continue;
      if (for_good || trials(number) > options_.retries) {
        open_.erase(number);
        fail(number, how);
        ++given_up;
      } else {
        waiting_.push_back(number);
        ++again;
      }
    }
    if (again > 0) events_.say(how + "; " + counted(again, "submission") + " submitted again");
    if (given_up > 0) events_.say(how + "; " + counted(given_up, "submission") + " given up");
  }

  /// Whether a later array has it: then an earlier process has dealt with this task's end.
  bool submitted_since(std::size_t number) const {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      for (std::size_t k = 0; k < arrays_[a].tasks.size(); ++k) {
        if (buried_.contains({a, k})) continue;
        if (std::ranges::find(arrays_[a].tasks[k], number) != arrays_[a].tasks[k].end())
          return true;
      }
    }
    return false;
  }

  /// Ends what nobody waits for: the folder will be removed.
  void end_others() {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      bool more = arrays_[a].job.empty();
      for (std::size_t k = 0; k < arrays_[a].tasks.size(); ++k) {
        const auto found = known_.find({arrays_[a].job, k});
        if (found == known_.end() || !found->second.to_come()) continue;
        more = more || !std::ranges::all_of(arrays_[a].tasks[k], [&](std::size_t number) {
                 return has_result(folder_, number) || read_failure(folder_, number).has_value();
               });
      }
      if (more) cancel(slurm_, arrays_[a], events_);
    }
  }

  fs::path folder_;
  const ExecuteOptions& options_;
  const Events& events_;
  Slurm slurm_;
  std::vector<Array> arrays_;
  std::set<std::size_t> open_;  // neither graded nor given up
  std::set<std::size_t> given_up_;
  Numbers waiting_;                                     // to be handed to Slurm
  std::map<std::size_t, std::set<std::string>> nodes_;  // on which a submission has failed
  std::map<std::size_t, std::string> failures_;         // why, the last time
  std::map<std::size_t, Clock::time_point> away_;       // since when an array's nodes are
  std::map<std::pair<std::size_t, std::size_t>, Clock::time_point> ended_;
  std::set<std::pair<std::size_t, std::size_t>> buried_;  // array and task: dealt with
  Slurm::Tasks known_;                                    // Slurm's last answer
  bool silent_ = false;
};

}  // namespace

bool has_slurm_jobs(const fs::path& folder) { return !read_arrays(folder).empty(); }

void cancel_slurm_jobs(const fs::path& folder, const Events& events) {
  Slurm slurm(folder / "slurm.log");
  for (const Array& array : read_arrays(folder)) cancel(slurm, array, events);
}

std::optional<Numbers> slurm_part(const fs::path& folder, std::size_t array, std::size_t task) {
  const std::vector<Array> arrays = read_arrays(folder);
  if (array >= arrays.size() || task >= arrays[array].tasks.size()) return std::nullopt;
  return arrays[array].tasks[task];
}

void execute_on_slurm(const fs::path& folder, const Numbers& numbers, const ExecuteOptions& options,
                      const Events& events) {
  Execution(folder, numbers, options, events).run();
}

}  // namespace prenorm::harness
