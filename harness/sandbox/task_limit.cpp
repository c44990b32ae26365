#include "sandbox/task_limit.hpp"

#include "sandbox/processes.hpp"

#include <algorithm>
#include <thread>

namespace prenorm::sandbox {
namespace {

constexpr std::chrono::milliseconds between_counts{10};
/// One of so many parts of the room is given away at once: on a busy machine those admitted take
/// longer to appear.
constexpr std::size_t part = 4;

std::size_t tasks_of(pid_t group) {
  std::size_t count = 0;
  for (const GroupProcess& each : processes_of(group)) count += each.threads;
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
