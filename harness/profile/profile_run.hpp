// A run of `profile`: calls of libraries that count, and what they have counted.
#pragma once

#include "base/parallel.hpp"
#include "fixture/selection.hpp"
#include "profile/counts.hpp"
#include "profile/resources.hpp"
#include "solution/solution.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness::profile {

/// A solution that was compiled for the run.
struct CompiledSolution {
  fs::path library;
  Resources resources;
};

struct ProfileOptions {
  Selection selection;              // problems, cases, dtypes, fixtures
  std::vector<std::string> shapes;  // names or globs, of the profile's list and of the bench's
  std::vector<std::string> solutions;
  std::map<std::string, CompiledSolution> compiled;  // those of the solutions that are sources
  std::string device = "h100";
  unsigned threads = processors();
  double timeout = 600;
  std::uint64_t seed = 0;
  std::string counters;    // of a device: "ncu", "none", or a file; empty: "ncu" where it is
  bool only_call = false;  // in this process, and count nothing: for what looks at this process
};

/// One call: its arguments, and what it must move and compute at least.
struct Work {
  std::string problem, shape;  // of the list, or a case
  DType dtype = DType::float32;
  Signature signature;
  Case info;
  Inputs inputs;
  double bytes = 0;  // inputs once, outputs once
  double flops = 0;  // 0: not known
};

/// One version at one shape.
struct ProfileRow {
  std::shared_ptr<const Work> work;
  std::string solution;
  Status status = Status::passed;  // of the call; its outputs are not compared
  std::string message;
  std::vector<KernelCounts> kernels;

  bool ok() const { return status == Status::passed; }
  double least_bytes() const;   // of all launches
  double sector_bytes() const;  // of all requests
  double tensor_flops() const;
  Bound bound(const DeviceLimits& device) const;
};

struct ProfileReport {
  DeviceLimits device;
  std::uint64_t seed = 0;
  std::string counters_of;  // the device, or the file of ncu's; empty: no counters of a device
  std::vector<ProfileRow> rows;
};

/// Where the shapes and the devices' figures lie.
fs::path data_folder();

/// Profiles the selected problems. Throws UsageError for a word that names nothing.
ProfileReport run_profile(const ProfileOptions& options);

/// The device of that name (devices.json). Throws UsageError.
DeviceLimits device_named(const std::string& id);

// A device's own counters (device_counters.cpp).

/// One launch on a device, as ncu has written it.
struct DeviceLaunch {
  std::string function;  // function_name of the kernel
  std::array<std::uint64_t, 3> grid{}, block{};
  DeviceCounters counters;
};

/// Where a device's own counters come from: ncu, around a call of the device's solution, or a file
/// that ncu has written.
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
                      const fs::path& table) const;
  void ask(ProfileRow& row, const std::string& solution);

  const ProfileOptions& options_;
  bool asked_for_ = false;                                    // by --counters ncu
  std::string ncu_;                                           // empty: not there, or given up
  std::vector<DeviceLaunch> stored_;                          // of the file
  std::map<std::string, std::optional<Solution>> solutions_;  // nothing: cannot be used here
  std::string device_;
};

}  // namespace prenorm::harness::profile
