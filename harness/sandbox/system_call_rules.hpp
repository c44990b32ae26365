// How rules about system calls are written; and those of calls that are refused.
#pragma once

#include "sandbox/system_calls.hpp"

#include <iterator>

namespace prenorm::sandbox {

using Calls = std::vector<SystemCall>;

#define CALL(name) \
  SystemCall { #name, SCMP_SYS(name) }
#define CALL_IF(name, only, ...) \
  SystemCall { #name, SCMP_SYS(name), {__VA_ARGS__ }, only }

/// The low 32 bits of an argument, which is all that the kernel looks at in an int.
inline scmp_arg_cmp is(unsigned argument, std::uint32_t value) {
  return SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, 0xffffffff, value);
}

inline void append(Calls& calls, Calls more) {
  calls.insert(calls.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

/// What a library may ask for, and can do without.
Rule refused(const Setting& setting);

/// What no computation needs.
Rule violations();

}  // namespace prenorm::sandbox
