// One `prenorm grade` in a process of its own, which can be given up when a file is saved again.
#pragma once

#include "base/open_file.hpp"
#include "base/temporary_folder.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace prenorm::harness {

class GradingRun {
 public:
  /// Starts `prenorm grade ARGUMENTS --json FILE`. Throws std::system_error.
  explicit GradingRun(const std::vector<std::string>& arguments);
  ~GradingRun();  // gives it up
  GradingRun(const GradingRun&) = delete;
  GradingRun& operator=(const GradingRun&) = delete;

  /// For poll(): readable when it has ended.
  int descriptor() const { return ended_.get(); }

  struct Answer {
    std::string report;     // JSON, or empty
    std::string complaint;  // what it said instead
  };
  /// Waits for its end.
  Answer finish();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  OpenFile ended_;
};

}  // namespace prenorm::harness
