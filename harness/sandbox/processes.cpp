#include "sandbox/processes.hpp"

#include "base/proc_stat.hpp"
#include "sandbox/check.hpp"

#include <dirent.h>
#include <memory>
#include <string>
#include <unistd.h>

namespace prenorm::sandbox {

std::vector<GroupProcess> processes_of(pid_t group) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir("/proc"), &::closedir);
  check(listing != nullptr, "/proc");
  std::vector<GroupProcess> found;
  const std::string self = std::to_string(::getpid());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != name.npos || name == self) continue;
    const auto stat = harness::read_proc_stat("/proc/" + name);
    if (stat && (group == 0 || stat->group == group)) {
      found.push_back({std::stoi(name), static_cast<std::size_t>(stat->threads)});
    }
  }
  return found;
}

}  // namespace prenorm::sandbox
