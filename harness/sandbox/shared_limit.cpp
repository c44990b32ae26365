#include "sandbox/shared_limit.hpp"

#include "sandbox/processes.hpp"

#include <fstream>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace prenorm::sandbox {
namespace {

/// Whether the process certainly maps no memory that is shared without a file.
bool maps_none(pid_t process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::string line;
  bool any = false;
  while (std::getline(maps, line)) {
    if (line.ends_with("/dev/zero (deleted)")) return false;
    any = true;
  }
  return any;  // else it could not be read
}

/// The same of all, none of which began or ended meanwhile: it could have handed its mapping on.
bool none_is_left(pid_t group) {
  const auto before = processes_of(group);
  for (const GroupProcess& each : before) {
    if (!maps_none(each.process)) return false;
  }
  return processes_of(group) == before;
}

}  // namespace

SharedLimit::SharedLimit(std::uint64_t most, pid_t group)
    : most_(most > 0 ? most : std::numeric_limits<std::uint64_t>::max()),
      left_(most_),
      group_(group) {}

bool SharedLimit::admits(std::uint64_t bytes, std::uint64_t flags) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if ((flags & MAP_HUGETLB) != 0 || bytes > most_ - page) return false;
  last_ = (bytes + page - 1) / page * page;
  if (last_ > left_ && none_is_left(group_)) left_ = most_;
  if (last_ > left_) return false;
  left_ -= last_;
  return true;
}

void SharedLimit::take_back() { left_ += last_; }

}  // namespace prenorm::sandbox
