// Starting a child process: what happens between fork and exec.
#pragma once

#include "base/process.hpp"

#include <sys/types.h>

namespace prenorm::harness {

/// Everything that the child needs between fork and exec, where it may not allocate.
struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  Process::Limits limits;
  int socket, output, error, null, report;
  int group;  // where to join a control group; -1: none
  pid_t parent;
};

/// The process's number, or -1 and errno. What fails in the child is written to `report`, as an
/// int.
pid_t start_process(const Start& what);

}  // namespace prenorm::harness
