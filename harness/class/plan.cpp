#include "class/plan.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/tree.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace prenorm::harness {
namespace {

/// The file of a work folder that is made first and removed last.
constexpr const char* marker = "prenorm-work";
/// Plans of another version are not continued.
constexpr int plan_version = 1;

fs::path result_file(const fs::path& folder, std::size_t number) {
  return folder / "results" / std::to_string(number);
}
fs::path taken_file(const fs::path& result) { return result.string() + ".taken"; }
fs::path failed_file(const fs::path& folder, std::size_t number) {
  return result_file(folder, number).string() + ".failed";
}

/// Renames it to an unused name and returns that; empty where it cannot be renamed.
fs::path set_aside(const fs::path& folder) {
  constexpr int most = 1000;
  std::error_code failed;
  for (int number = 1; number <= most; ++number) {
    const fs::path aside = folder.string() + ".left-" + std::to_string(number);
    if (fs::exists(fs::symlink_status(aside, failed))) continue;
    fs::rename(folder, aside, failed);
    return failed ? fs::path() : aside;
  }
  return {};
}

}  // namespace

bool is_work_folder(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(folder, failed))) return true;
  if (!fs::is_directory(fs::symlink_status(folder, failed))) return false;
  return fs::exists(folder / marker, failed) || fs::is_empty(folder, failed);
}

std::optional<std::string> remove_work_folder(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(folder / marker, failed)) return std::nullopt;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().filename() != marker) entries.push_back(entry.path());
  }
  std::string why;
  bool blocks = false;  // what stays could be taken for a part of the next plan
  for (const fs::path& entry : entries) {
    const std::optional<std::string> reason = remove_tree(entry);
    if (!reason) continue;
    if (why.empty()) why = entry.filename().string() + ": " + *reason;
    blocks = blocks || entry.filename() != "tmp";
  }
  if (why.empty()) {
    // Last, so that the folder is known to be a grader's as long as anything is in it.
    fs::remove(folder / marker, failed);
    fs::remove(folder, failed);
    return std::nullopt;
  }
  if (const fs::path aside = set_aside(folder); !aside.empty()) {
    return folder.string() + " cannot be removed (" + why + "); it is now " + aside.string();
  }
  if (!blocks) return folder.string() + " cannot be emptied: " + why;
  throw std::runtime_error(folder.string() + ": cannot be emptied: " + why);
}

void write_plan(const fs::path& folder, const Plan& plan) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed) std::ofstream(folder / marker).flush();
  fs::create_directories(folder / "results", failed);
  fs::create_directories(folder / "tmp", failed);
  fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) throw std::runtime_error("cannot make " + folder.string() + ": " + failed.message());
  std::string paths;
  Json names = Json::array();
  for (const ClassSubmission& submission : plan.submissions) {
    paths += submission.path + '\0';
    names.push_back({submission.name, submission.files});
    if (submission.changed) names.back().push_back(*submission.changed);
  }
  write_whole(folder / "paths", paths);
  const Json object{{"version", plan_version},
                    {"settings", plan.settings},
                    {"exam", plan.exam},
                    {"folder", plan.folder},
                    {"submissions", std::move(names)}};
  write_whole(folder / "plan.json", object.dump(1) + "\n");
}

std::optional<Plan> read_plan(const fs::path& folder) try {
  const auto text = read_whole(folder / "plan.json"), paths = read_whole(folder / "paths");
  if (!text || !paths) return std::nullopt;
  const Json object = parse_json(*text);
  if (object.at("version") != plan_version) return std::nullopt;
  Plan plan;
  plan.settings = object.at("settings");
  object.at("exam").get_to(plan.exam);
  object.at("folder").get_to(plan.folder);
  std::size_t at = 0;
  for (const Json& each : object.at("submissions")) {
    const std::size_t end = paths->find('\0', at);
    if (end == paths->npos) return std::nullopt;
    plan.submissions.push_back({each.at(0), paths->substr(at, end - at), each.at(1)});
    if (each.size() > 2) plan.submissions.back().changed = each.at(2).get<std::int64_t>();
    at = end + 1;
  }
  return plan;
} catch (const Json::exception&) {
  return std::nullopt;
}

void require_plan(const fs::path& folder, const Plan& plan, std::size_t number) {
  const std::optional<Plan> now = read_plan(folder);
  if (now && now->exam == plan.exam && now->settings == plan.settings &&
      number < now->submissions.size() &&
      now->submissions[number].path == plan.submissions.at(number).path &&
      now->submissions[number].files == plan.submissions.at(number).files) {
    return;
  }
  throw std::runtime_error(folder.string() + ": the plan that this was begun by is gone");
}

void write_result(const fs::path& folder, std::size_t number, const PlannedResult& result) {
  write_whole(result_file(folder, number),
              result.files + "\n" + result.exam + "\n" + result.grading + "\n");
}

bool has_result(const fs::path& folder, std::size_t number) {
  std::error_code ignored;
  const fs::path file = result_file(folder, number);
  return fs::exists(file, ignored) || fs::exists(taken_file(file), ignored);
}

void take_result(const fs::path& folder, std::size_t number) {
  const fs::path file = result_file(folder, number);
  write_whole(taken_file(file), "");
  std::error_code ignored;
  fs::remove(file, ignored);
}

std::optional<PlannedResult> read_result(const fs::path& folder, std::size_t number) {
  std::ifstream file(result_file(folder, number), std::ios::binary);
  PlannedResult result;
  if (!std::getline(file, result.files) || !std::getline(file, result.exam) ||
      !std::getline(file, result.grading)) {
    return std::nullopt;
  }
  return result;
}

void write_failure(const fs::path& folder, std::size_t number, const PlannedFailure& failure) {
  write_whole(failed_file(folder, number), printable(failure.why, 2000) + "\n" + failure.node);
}

std::optional<PlannedFailure> read_failure(const fs::path& folder, std::size_t number) {
  const std::optional<std::string> text = read_whole(failed_file(folder, number));
  if (!text) return std::nullopt;
  const std::size_t end = std::min(text->find('\n'), text->size());
  return PlannedFailure{text->substr(0, end), end < text->size() ? text->substr(end + 1) : ""};
}

void remove_failure(const fs::path& folder, std::size_t number) {
  std::error_code ignored;
  fs::remove(failed_file(folder, number), ignored);
}

}  // namespace prenorm::harness
