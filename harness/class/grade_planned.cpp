#include "class/grade_planned.hpp"

#include "base/control_group.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/temporary_folder.hpp"
#include "class/class_sandbox.hpp"
#include "class/processor_share.hpp"
#include "grade/grader.hpp"
#include "grade/grading_record.hpp"
#include "grade/snapshot.hpp"

#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

/// The plan in the folder, whose paths start from here then.
Plan enter_plan(const fs::path& folder) {
  std::optional<Plan> plan = read_plan(folder);
  if (!plan) throw UsageError(folder.string() + ": no plan of a class in it");
  if (::chdir(plan->folder.c_str()) != 0) {
    throw UsageError(plan->folder + ": cannot be entered here");
  }
  return *std::move(plan);
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

std::string files_digest(const std::string& path) {
  try {
    return digest_snapshot(submission_file(path));
  } catch (const std::exception& error) {
    return std::string("unreadable: ") + printable(error.what());
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
  Grader grader(settings, 1, nullptr);
  if (fs::exists(folder / "hidden")) grader.take_drawn(folder / "hidden");
  PlannedResult result;
  result.files = files_digest(path);
  result.exam = grader.exam_digest();
  result.grading = grading_record(grader.grade_any(path));
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
