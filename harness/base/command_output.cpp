#include "base/command_output.hpp"

#include <array>
#include <cstdio>
#include <sys/wait.h>

namespace prenorm::harness {

CommandOutput command_output(const std::string& command) {
  CommandOutput output;
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return {"", 127};
  std::array<char, 1 << 14> some{};
  for (std::size_t got; (got = std::fread(some.data(), 1, some.size(), pipe)) > 0;) {
    output.text.append(some.data(), got);
  }
  const int status = ::pclose(pipe);
  output.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return output;
}

}  // namespace prenorm::harness
