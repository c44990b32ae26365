// Where a device's own counters come from, for kernels that the emulator has counted: from ncu,
// around a call of the device's solution, or from a file that ncu has written.
#pragma once

#include "profile/device_counters.hpp"
#include "profile/profile_run.hpp"

#include <optional>
#include <set>

namespace prenorm::harness::profile {

class CounterSource {
 public:
  /// Throws UsageError for a file that cannot be read, and where ncu is asked for and is not there.
  explicit CounterSource(const ProfileOptions& options);

  /// Gives the row's kernels what the device counts when its solution does the same work; nothing
  /// where there is no such solution, no device or no ncu.
  ///
  /// Throws UsageError for what is missing if it was asked for. Else what fails is said once on
  /// standard error, and nothing more is tried.
  void add(ProfileRow& row);

  /// The device, or the file; empty if there were no counters.
  const std::string& device() const { return device_; }

 private:
  Solution* device_solution(const std::string& emulated);
  std::string command(const ProfileRow& row, const std::string& solution,
                      const std::filesystem::path& table) const;
  void ask(ProfileRow& row, const std::string& solution);

  const ProfileOptions& options_;
  bool asked_for_ = false;                                    // by --counters ncu
  std::string ncu_;                                           // empty: not there, or given up
  std::vector<DeviceLaunch> stored_;                          // of the file
  std::map<std::string, std::optional<Solution>> solutions_;  // nothing: cannot be used here
  std::string device_;
};

}  // namespace prenorm::harness::profile
