#include "base/files.hpp"
#include "base/home.hpp"
#include "base/parallel.hpp"
#include "base/process.hpp"
#include "base/tree.hpp"
#include "class/execute.hpp"
#include "class/processor_share.hpp"
#include "grade/snapshot.hpp"
#include "solution/solution.hpp"

#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// This process's own, with a share of the processors and another folder for temporary files: one
/// that is emptied even where a grader is killed.
std::vector<std::string> environment_with(const fs::path& temporary, const std::string& share) {
  const std::string processors = std::string(processor_share) + "=";
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    if (variable.starts_with("TMPDIR=") || variable.starts_with(processors)) continue;
    all.emplace_back(variable);
  }
  all.push_back("TMPDIR=" + fs::absolute(temporary).string());
  all.push_back(processors + share);
  return all;
}

/// More than a grader of one submission takes, by its plan (GradeSettings::whole_seconds).
double seconds_of(const fs::path& folder) {
  constexpr double of_an_earlier_program = 2 * 3600;
  const std::optional<Plan> plan = read_plan(folder);
  return plan ? plan->settings.value("whole_time", of_an_earlier_program) : of_an_earlier_program;
}

/// What a child left.
struct Trial {
  std::string why;  // there is no result; empty: there is one
  bool late = false;
};

/// `seconds`: after which it hangs.
Trial grade_in_child(const fs::path& folder, std::size_t number, const fs::path& temporary,
                     const std::string& share, double seconds) {
  std::error_code ignored;
  fs::create_directories(temporary, ignored);
  std::vector<std::string> words = planned_command(folder, "--number", number);
  Process::Command command;
  command.program = words.front();
  command.arguments.assign(words.begin() + 1, words.end());
  command.environment = environment_with(temporary, share);
  Trial trial;
  try {
    Process child(command);
    char byte = 0;
    child.receive(&byte, 1, deadline_in(seconds));  // it says that the result is there
  } catch (const ProcessTimeout&) {
    trial = {"is not graded within " + seconds_text(seconds), true};
  } catch (const ProcessEnded& end) {
    trial.why = std::string("the grader ended: ") + end.what();
  } catch (const std::exception& error) {  // no process, no memory: of the moment
    trial.why = std::string("the grader could not be started: ") + error.what();
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  (void)remove_tree(temporary);  // what stays is told when the folder above is removed
  if (has_result(folder, number)) trial.why = "";
  return trial;
}

}  // namespace

std::vector<std::string> planned_command(const fs::path& folder, const std::string& option,
                                         std::size_t number) {
  return {home() / "bin" / "prenorm", "grade", "--planned", folder.string(), option,
          std::to_string(number)};
}

void execute_locally(const fs::path& folder, const std::vector<std::size_t>& numbers,
                     const ExecuteOptions& options, const fs::path& temporary,
                     const Events& events) {
  const double seconds = seconds_of(folder);
  std::mutex one;
  // A submission that keeps its processors busy takes none of its neighbours'.
  const std::vector<std::string> shares =
      processor_shares(thread_count(numbers.size(), options.jobs));
  in_parallel(numbers.size(), options.jobs, [&](std::size_t i, std::size_t thread) {
    const std::size_t number = numbers[i];
    Trial trial;
    for (unsigned times = 0; times <= options.retries; ++times) {
      trial = grade_in_child(folder, number, temporary / std::to_string(number), shares.at(thread),
                             seconds);
      // Who took so long would take as long again.
      if (trial.why.empty() || trial.late) break;
    }
    const std::lock_guard lock(one);
    if (trial.why.empty()) {
      events.done(number);
    } else {
      events.failed(number, trial.why);
    }
  });
}

}  // namespace prenorm::harness
