#include "base/control_group.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

namespace prenorm::harness {
namespace {

/// Of the groups that graders make: PREFIX, their process's number, "-", a number.
constexpr std::string_view prefix = "prenorm-";
/// Of the group into which a grader moves itself, where it may limit only what is below its own.
constexpr std::string_view own_name = "prenorm";
/// How long an emptied group may take to be one.
constexpr std::chrono::milliseconds time_to_empty{500};

bool write_file(const fs::path& file, std::string_view text) {
  const OpenFile target(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return ::write(target.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::vector<std::string> words_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool has_word(const fs::path& file, std::string_view word) {
  const std::vector<std::string> words = words_of(file);
  return std::ranges::find(words, word) != words.end();
}

/// Where the system has mounted the hierarchy.
std::optional<fs::path> mount_point() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, folder, kind, rest;
  while (mounts >> device >> folder >> kind && std::getline(mounts, rest)) {
    if (kind == "cgroup2") return folder;
  }
  return std::nullopt;
}

/// The group of this process, as a path that begins with a slash.
std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

bool may_change(const fs::path& group) {
  return ::access((group / "cgroup.procs").c_str(), W_OK) == 0 &&
         ::access((group / "cgroup.subtree_control").c_str(), W_OK) == 0;
}

/// Lets the groups below limit what this one can.
void enable_controllers(const fs::path& group) {
  for (const char* controller : {"memory", "pids", "cpu", "io"}) {
    write_file(group / "cgroup.subtree_control", std::string("+") + controller);
  }
}

bool limits_memory(const fs::path& group) {
  return has_word(group / "cgroup.subtree_control", "memory");
}

/// A group that has processes of its own limits nothing below it: this process moves into one
/// below.
void move_down(const fs::path& group) {
  const fs::path below = group / own_name;
  std::error_code ignored;
  fs::create_directory(below, ignored);
  write_file(below / "cgroup.procs", "0");
}

/// Groups of graders that were killed.
void remove_left(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(prefix)) continue;
    const pid_t grader = std::atoi(name.c_str() + prefix.size());
    if (grader > 0 && ::kill(grader, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

struct Place {
  std::optional<fs::path> parent;  // of all groups
  std::string why_not;
};

Place find_place() {
  const std::optional<fs::path> root = mount_point();
  if (!root) return {std::nullopt, "no hierarchy of version 2 is mounted"};
  if (!has_word(*root / "cgroup.controllers", "memory")) {
    return {std::nullopt, "the hierarchy of version 2 does not control memory"};
  }
  fs::path own = *root / fs::path(own_group()).relative_path();
  if (own.filename() == own_name) own = own.parent_path();
  std::vector<fs::path> candidates{own};
  if (::geteuid() == 0) candidates.push_back(*root);  // in reach of no session's limits
  for (const fs::path& candidate : candidates) {
    if (!may_change(candidate)) continue;
    enable_controllers(candidate);
    if (!limits_memory(candidate) && candidate != *root) {
      move_down(candidate);
      enable_controllers(candidate);
    }
    if (!limits_memory(candidate)) continue;
    remove_left(candidate);
    return {candidate, ""};
  }
  return {std::nullopt,
          "this process may make none (systemd-run --user --scope -p Delegate=yes lets it)"};
}

const Place& place() {
  static const Place found = find_place();
  return found;
}

}  // namespace

ControlGroup::Availability ControlGroup::availability() {
  if (!place().parent) return {false, place().why_not};
  std::string what = "memory";
  for (const auto& [controller, word] :
       std::map<std::string, std::string>{{"pids", "tasks"}, {"cpu", "processors"}}) {
    if (has_word(*place().parent / "cgroup.subtree_control", controller)) what += ", " + word;
  }
  return {true, what};
}

std::unique_ptr<ControlGroup> ControlGroup::make(const Limits& limits) {
  if (!place().parent) return nullptr;
  static std::atomic<unsigned> number = 0;
  const fs::path folder = *place().parent / (std::string(prefix) + std::to_string(::getpid()) +
                                             "-" + std::to_string(++number));
  std::error_code error;
  if (!fs::create_directory(folder, error)) return nullptr;
  std::unique_ptr<ControlGroup> group(new ControlGroup(folder));
  bool limited = group->entrance_.is_open();
  if (limits.memory > 0) {
    limited = limited && write_file(folder / "memory.max", std::to_string(limits.memory));
    // Where there is swap, it would be as good as memory.
    write_file(folder / "memory.swap.max", "0");
    write_file(folder / "memory.oom.group", "1");
  }
  if (limits.tasks > 0) write_file(folder / "pids.max", std::to_string(limits.tasks));
  return limited ? std::move(group) : nullptr;
}

ControlGroup::ControlGroup(const fs::path& folder)
    : folder_(folder), entrance_(::open((folder / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)) {}

ControlGroup::~ControlGroup() {
  entrance_.close();
  const auto end = std::chrono::steady_clock::now() + time_to_empty;
  do {
    kill();
    if (::rmdir(folder_.c_str()) == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < end);
}

bool ControlGroup::ran_out_of_memory() const {
  std::ifstream events(folder_ / "memory.events");
  std::string event;
  for (std::size_t count = 0; events >> event >> count;) {
    if (event == "oom_kill" && count > 0) return true;
  }
  return false;
}

void ControlGroup::kill() const {
  if (write_file(folder_ / "cgroup.kill", "1")) return;  // since Linux 5.14
  for (const std::string& process : words_of(folder_ / "cgroup.procs")) {
    ::kill(std::atoi(process.c_str()), SIGKILL);
  }
}

}  // namespace prenorm::harness
