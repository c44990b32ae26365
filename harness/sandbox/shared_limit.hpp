// Limits the memory that a submission's processes share without a file: it stays when none of them
// has its pages any more, so that afterwards nobody can see how much there is.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace prenorm::sandbox {

/// For the supervisor, which is asked before each such mmap().
class SharedLimit {
 public:
  /// At most that many bytes of all that the group's (processes.hpp) processes have shared since
  /// there was last none of it. 0: any number.
  SharedLimit(std::uint64_t most, pid_t group);

  /// Whether there may be a mapping of that many bytes, with these flags of mmap().
  bool admits(std::uint64_t bytes, std::uint64_t flags);
  /// The last one that was admitted was not made: whoever asked has been interrupted.
  void take_back();

 private:
  std::uint64_t most_, left_, last_ = 0;
  pid_t group_;
};

}  // namespace prenorm::sandbox
