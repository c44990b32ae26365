// A seccomp filter of this process and all that it starts.
#pragma once

#include "sandbox/system_calls.hpp"

namespace prenorm::sandbox {

/// Holds from now on: what no rule names fails with ENOSYS. Returns the notification descriptor, or
/// -1 where no rule asks the supervisor.
///
/// Throws std::system_error.
int load_filter(const std::vector<Rule>& rules);

}  // namespace prenorm::sandbox
