#include "base/family.hpp"

#include "base/proc_stat.hpp"

#include <cstdlib>
#include <dirent.h>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace prenorm::harness {
namespace {

using Clock = std::chrono::steady_clock;

/// All processes of the machine at one time.
struct Processes {
  struct One {
    pid_t parent, group;
    std::size_t tasks, pages;
    pid_t alive;  // one of its threads
    bool has_ended = false;
  };
  std::map<pid_t, One> all;
  std::multimap<pid_t, pid_t> children;
};

pid_t number_of(const std::filesystem::path& folder) {
  return std::atoi(folder.filename().c_str());
}

/// The first thread of a process has ended, and what is said of the process is nothing: what is
/// said of another thread.
void look_at_thread(const std::filesystem::path& process, Processes::One& one) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(process / "task", error)) {
    const auto stat = read_proc_stat(entry.path());
    if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
    one.alive = number_of(entry.path());
    one.has_ended = false;
    one.pages = stat->resident_pages;
    return;
  }
}

Processes read_processes() {
  Processes found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const auto stat = read_proc_stat(entry.path());
    if (!stat) continue;
    const pid_t pid = number_of(entry.path());
    Processes::One one{stat->parent, stat->group, stat->threads, stat->resident_pages, pid};
    one.has_ended = stat->state == 'Z' || stat->state == 'X';
    if (stat->state == 'Z' && one.tasks > 1) look_at_thread(entry.path(), one);
    found.all[pid] = one;
    found.children.emplace(stat->parent, pid);
  }
  return found;
}

/// The last reading, or a new one if that is too old.
std::shared_ptr<const Processes> recent_processes() {
  static std::mutex mutex;
  static std::shared_ptr<const Processes> last;
  static Clock::time_point read_at;
  const std::lock_guard lock(mutex);
  if (!last || Clock::now() - read_at > Family::most_age) {
    last = std::make_shared<const Processes>(read_processes());
    read_at = Clock::now();
  }
  return last;
}

}  // namespace

Family Family::of(pid_t ancestor) {
  const std::shared_ptr<const Processes> processes = recent_processes();
  // Its process group too: a process whose parent has ended gets another parent.
  std::vector<pid_t> rest{ancestor};
  for (const auto& [pid, one] : processes->all) {
    if (one.group == ancestor) rest.push_back(pid);
  }
  static const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Family family;
  std::set<pid_t> counted;
  while (!rest.empty()) {
    const pid_t pid = rest.back();
    rest.pop_back();
    if (!counted.insert(pid).second) continue;
    const auto [first, last] = processes->children.equal_range(pid);
    for (auto child = first; child != last; ++child) rest.push_back(child->second);
    const auto one = processes->all.find(pid);
    if (one == processes->all.end()) continue;
    family.tasks += one->second.tasks;
    family.resident += one->second.pages * page_bytes;
    family.members.push_back(
        {one->second.alive, one->second.pages * page_bytes, one->second.has_ended});
  }
  return family;
}

bool visit_descriptors(pid_t process, const std::function<void(int, const char*)>& visit) {
  DIR* const listing = ::opendir(("/proc/" + std::to_string(process) + "/fd").c_str());
  if (listing == nullptr) return false;
  while (const dirent* entry = ::readdir(listing)) visit(::dirfd(listing), entry->d_name);
  ::closedir(listing);
  return true;
}

}  // namespace prenorm::harness
