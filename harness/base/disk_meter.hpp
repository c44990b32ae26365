// How much a family of processes keeps in the folders that it may write.
#pragma once

#include "base/family.hpp"
#include "base/tree.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Looks from time to time: a look takes the longer the more there is. It looks sooner where a file
/// system loses room so fast that the limit may be exceeded before it is time: that much is asked
/// at each call.
class DiskMeter {
 public:
  /// Why it is too much, in words; nothing if it is not, or it is not time for a look yet.
  /// `family` without processes that are trusted.
  std::optional<std::string> exceeded(const Family& family,
                                      const std::vector<std::filesystem::path>& folders,
                                      const TreeLimits& limits);

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point soonest_look_{}, next_look_{};
  std::uintmax_t free_ = 0;      // bytes of the file systems, at the last look
  std::uintmax_t much_ = 0;      // so many fewer, and it may be too much
  std::map<pid_t, int> unseen_;  // looks at which a process could not be asked
};

}  // namespace prenorm::harness
