// How much a family of processes keeps in the folders that it may write.
#pragma once

#include "base/family.hpp"
#include "base/tree.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

/// Looks from time to time: a look takes the longer the more there is.
class DiskMeter {
 public:
  /// Why it is too much, in words; nothing if it is not, or it is not time for a look yet.
  /// `family` without processes that are trusted.
  std::optional<std::string> exceeded(const Family& family,
                                      const std::vector<std::filesystem::path>& folders,
                                      const TreeLimits& limits);

 private:
  std::chrono::steady_clock::time_point next_look_{};
  std::map<pid_t, int> unseen_;  // looks at which a process could not be asked
};

}  // namespace prenorm::harness
