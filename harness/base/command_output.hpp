// What another program prints, for those that are asked and not watched.
#pragma once

#include <string>

namespace prenorm::harness {

/// What a command has written to its standard output, and how it ended.
struct CommandOutput {
  std::string text;
  int exit_code = 0;  // 127: there is no such program; 128 and the number: a signal
};

/// Runs a command line of /bin/sh to its end.
CommandOutput command_output(const std::string& command);

}  // namespace prenorm::harness
