// The plan's submissions, each graded by a process of its own: how these are started, and what they
// do.
#include "base/control_group.hpp"
#include "base/paths.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/process.hpp"
#include "base/temporary_folder.hpp"
#include "base/tree.hpp"
#include "class/execute.hpp"
#include "grade/grader.hpp"
#include "grade/grading_record.hpp"
#include "sandbox/sandbox.hpp"

#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace prenorm::harness {
namespace {

/// This process's environment with a share of the processors, and with a folder for temporary files
/// that is removed even if a grader is killed.
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

/// How a child ended.
struct Trial {
  std::string why;  // why there is no result; empty: there is one
  bool late = false;
};

/// `seconds`: after that time it is taken to hang.
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
    child.receive(&byte, 1, deadline_in(seconds));  // sent when the result is written
  } catch (const ProcessTimeout&) {
    trial = {"is not graded within " + seconds_text(seconds), true};
  } catch (const ProcessEnded& end) {
    trial.why = std::string("the grader ended: ") + end.what();
  } catch (const std::exception& error) {  // no process, no memory: may pass
    trial.why = std::string("the grader could not be started: ") + error.what();
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  (void)remove_tree(temporary);  // what cannot be removed is reported with the folder above
  if (has_result(folder, number)) trial.why = "";
  return trial;
}

Plan plan_in(const fs::path& folder) {
  std::optional<Plan> plan = read_plan(folder);
  if (!plan) throw UsageError(folder.string() + ": no plan of a class in it");
  return *std::move(plan);
}

/// The plan in the folder; this process enters the folder that its paths start from.
Plan enter_plan(const fs::path& folder) {
  Plan plan = plan_in(folder);
  if (::chdir(plan.folder.c_str()) != 0) {
    throw UsageError(plan.folder + ": cannot be entered here");
  }
  return plan;
}

/// The submissions of the part "ARRAY.TASK".
std::vector<std::size_t> numbers_of(const fs::path& folder, const std::string& part) {
  std::size_t array = 0, task = 0;
  const char *const begin = part.data(), *const end = begin + part.size();
  const auto [dot, bad_array] = std::from_chars(begin, end, array);
  if (bad_array == std::errc{} && dot != end && *dot == '.') {
    const auto [rest, bad_task] = std::from_chars(dot + 1, end, task);
    if (bad_task == std::errc{} && rest == end) {
      if (auto numbers = slurm_part(folder, array, task)) return *std::move(numbers);
      throw UsageError(folder.string() + ": has no part " + part);
    }
  }
  throw UsageError("--part " + printable(part) + ": must be ARRAY.TASK, two numbers");
}

}  // namespace

std::string decided_sandbox(const Json& record) {
  return record.at(class_sandbox).get<std::string>();
}

void keep_sandbox(GradeSettings& settings, const std::string& decided) {
  for (const SandboxKind kind :
       {SandboxKind::none, SandboxKind::process, SandboxKind::bubblewrap}) {
    if (decided != name(kind)) continue;
    if (const auto why = unavailable(kind)) {
      throw UsageError("this class is graded in the sandbox " + decided +
                       ", which does not work here any more: " + *why +
                       " (--sandbox decides anew for the class)");
    }
    // The default needs no option: the commands in reports that repeat a case stay short.
    const bool usual = kind == SandboxKind::bubblewrap ||
                       (kind == SandboxKind::process && unavailable(SandboxKind::bubblewrap));
    if (!usual || !settings.sandbox.empty()) settings.sandbox = decided;
  }
}

std::vector<std::string> planned_command(const fs::path& folder, const std::string& option,
                                         std::size_t number) {
  return {home() / "bin" / "prenorm", "grade", "--planned", folder.string(), option,
          std::to_string(number)};
}

void execute_locally(const fs::path& folder, const std::vector<std::size_t>& numbers,
                     const ExecuteOptions& options, const fs::path& temporary,
                     const Events& events) {
  if (numbers.empty()) return;
  const double seconds =
      settings_of(plan_in(folder).settings).whole_seconds;  // a grader takes less
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
      // It would take as long again.
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

Snapshot look_at_files(const std::string& path) {
  try {
    return look_at_snapshot(submission_file(path));
  } catch (const std::exception& error) {
    return {.digest = "unreadable: " + printable(error.what()), .changed = {}, .left_out = {}};
  }
}

int grade_number(const fs::path& given, std::size_t number) {
  take_processor_share();
  const fs::path folder = fs::absolute(given);
  const Plan plan = enter_plan(folder);
  if (number >= plan.submissions.size()) {
    throw UsageError(folder.string() + ": has no submission " + std::to_string(number));
  }
  const std::string& path = plan.submissions[number].path;
  GradeSettings settings = settings_of(plan.settings);
  keep_sandbox(settings, decided_sandbox(plan.settings));
  Grader grader(settings, 1);
  if (fs::exists(folder / "hidden")) grader.take_drawn(folder / "hidden");
  PlannedResult result;
  result.exam = grader.exam_digest();
  const Grading grading = grader.grade_any(path);
  result.files = grading.files.empty() ? look_at_files(path).digest : grading.files;
  result.grading = grading_record(grading);
  require_plan(folder, plan, number);
  write_result(folder, number, result);
  // Whoever started this waits for a byte.
  constexpr int parent = 3;
  if (::fcntl(parent, F_GETFD) >= 0 && ::write(parent, "", 1) != 1) return 1;
  return 0;
}

int grade_part(const fs::path& given, const std::string& part, const ExecuteOptions& options,
               const std::function<void(const std::string&)>& say) {
  const fs::path folder = fs::absolute(given);
  const Plan plan = enter_plan(folder);
  std::vector<std::size_t> left = numbers_of(folder, part);
  std::erase_if(left, [&](std::size_t number) { return has_result(folder, number); });
  ControlGroup::availability();  // this process moves into one of its own, before it has children
  const TemporaryFolder temporary;
  int code = 0;
  Events events;
  events.done = [&](std::size_t number) { say(plan.submissions.at(number).name + ": graded"); };
  events.failed = [&](std::size_t number, const std::string& why) {
    say(plan.submissions.at(number).name + ": NOT graded: " + why);
    require_plan(folder, plan, number);
    const char* node = std::getenv("SLURMD_NODENAME");
    write_failure(folder, number, {why, node == nullptr ? "" : node});
    code = 1;
  };
  execute_locally(folder, left, options, temporary.path(), events);
  return code;
}

}  // namespace prenorm::harness
