#include "sandbox/task_limit.hpp"

#include "base/proc_stat.hpp"

#include <algorithm>
#include <dirent.h>
#include <limits>
#include <string>
#include <thread>
#include <unistd.h>

namespace prenorm::sandbox {
namespace {

constexpr std::chrono::milliseconds between_counts{10};
/// One of so many parts of the room is given away at once: on a busy machine those admitted take
/// longer to appear.
constexpr std::size_t part = 4;

/// Processes and threads of the group, or all of them, but this one's.
std::size_t tasks_of(pid_t group) {
  DIR* const listing = ::opendir("/proc");
  if (listing == nullptr) return std::numeric_limits<std::size_t>::max();
  std::size_t count = 0;
  const std::string self = std::to_string(::getpid());
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != name.npos || name == self) continue;
    const auto stat = harness::read_proc_stat("/proc/" + name);
    if (stat && (group == 0 || stat->group == group)) count += stat->threads;
  }
  ::closedir(listing);
  return count;
}

}  // namespace

bool TaskLimit::admits() {
  if (left_ == 0) {
    std::this_thread::sleep_until(next_count_);  // those admitted since the last count exist then
    const std::size_t room = most_ - std::min(most_, tasks_of(group_));
    left_ = (room + part - 1) / part;
    next_count_ = Clock::now() + between_counts;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace prenorm::sandbox
