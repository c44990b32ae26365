// Says of a kernel that runs for long where it is: a program without end is not silent.
#pragma once

#include <string>

namespace prenorm::emulator {

/// From now on `say` is called once, by a thread of its own, when one launch has taken ten seconds
/// of processor time. The launch goes on.
void watch_launches(void (*say)(const std::string& what));

/// A launch, for as long as it runs.
class Watched {
 public:
  Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched();
};

}  // namespace prenorm::emulator
