// The processes of a submission, as its supervisor sees them.
#pragma once

#include <cstddef>
#include <sys/types.h>
#include <vector>

namespace prenorm::sandbox {

struct GroupProcess {
  pid_t process;
  std::size_t threads;
  bool operator==(const GroupProcess&) const = default;
};

/// All of that process group, which none of them can leave, but this one; where the PID namespace
/// is theirs alone, the group is 0, and it is all there are. Throws std::system_error.
std::vector<GroupProcess> processes_of(pid_t group);

}  // namespace prenorm::sandbox
