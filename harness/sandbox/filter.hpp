// A seccomp filter of this process and all that it starts.
#pragma once

#include "sandbox/system_calls.hpp"

namespace prenorm::sandbox {

/// Holds from now on: what no rule names fails with ENOSYS. Returns the descriptor over which the
/// calls come that ask the supervisor, or -1 where none does.
///
/// Throws std::system_error.
int load_filter(const std::vector<Rule>& rules);

}  // namespace prenorm::sandbox
