#include "grade/plan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

[[noreturn]] void cannot_write(const fs::path& file) {
  throw std::runtime_error("cannot write " + file.string() + ": " + std::strerror(errno));
}

}  // namespace

// Under another name first, and on the disk before it has its own.
void write_whole(const fs::path& file, std::string_view text) {
  // A task that a cluster gave up may still run beside the one in its place.
  static const unsigned own = std::random_device()();
  const fs::path part = file.string() + "." + std::to_string(own) + ".part";
  const int target = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (target < 0) cannot_write(part);
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t written = ::write(target, text.data(), text.size());
    good = written > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(written));
  }
  good = good && ::fsync(target) == 0;
  ::close(target);
  if (!good || ::rename(part.c_str(), file.c_str()) != 0) cannot_write(file);
}

std::optional<std::string> read_whole(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

bool is_work_folder(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(fs::symlink_status(folder, failed)) || read_plan(folder)) return true;
  if (!fs::is_directory(folder, failed)) return false;
  // One whose making was interrupted.
  const fs::directory_iterator entries(folder, failed);
  return !failed && std::ranges::all_of(entries, [](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    return name == "results" || name == "tmp" || name == "paths" || name.ends_with(".part");
  });
}

void write_plan(const fs::path& folder, const Plan& plan) {
  std::error_code failed;
  fs::create_directories(folder / "results", failed);
  fs::create_directories(folder / "tmp", failed);
  fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) throw std::runtime_error("cannot make " + folder.string() + ": " + failed.message());
  std::string paths;
  Json names = Json::array();
  for (const PlannedSubmission& submission : plan.submissions) {
    paths += submission.path + '\0';
    names.push_back({submission.name, submission.files});
  }
  write_whole(folder / "paths", paths);
  const Json object{{"settings", plan.settings},
                    {"exam", plan.exam},
                    {"folder", plan.folder},
                    {"submissions", std::move(names)}};
  write_whole(folder / "plan.json", object.dump(1) + "\n");
}

std::optional<Plan> read_plan(const fs::path& folder) try {
  const auto text = read_whole(folder / "plan.json"), paths = read_whole(folder / "paths");
  if (!text || !paths) return std::nullopt;
  const Json object = Json::parse(*text);
  Plan plan;
  plan.settings = object.at("settings");
  object.at("exam").get_to(plan.exam);
  object.at("folder").get_to(plan.folder);
  std::size_t at = 0;
  for (const Json& each : object.at("submissions")) {
    const std::size_t end = paths->find('\0', at);
    if (end == paths->npos) return std::nullopt;
    plan.submissions.push_back({each.at(0), paths->substr(at, end - at), each.at(1)});
    at = end + 1;
  }
  return plan;
} catch (const Json::exception&) {
  return std::nullopt;
}

fs::path result_file(const fs::path& folder, std::size_t number) {
  return folder / "results" / std::to_string(number);
}

void write_result(const fs::path& folder, std::size_t number, const PlannedResult& result) {
  write_whole(result_file(folder, number),
              result.files + "\n" + result.exam + "\n" + result.grading + "\n");
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

void write_failure(const fs::path& folder, std::size_t number, const std::string& why) {
  write_whole(result_file(folder, number).string() + ".failed", why);
}

std::optional<std::string> read_failure(const fs::path& folder, std::size_t number) {
  return read_whole(result_file(folder, number).string() + ".failed");
}

}  // namespace prenorm::harness
