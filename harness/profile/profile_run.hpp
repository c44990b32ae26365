// A run of `profile`: calls of libraries that count, and what they have counted.
#pragma once

#include "base/parallel.hpp"
#include "fixture/selection.hpp"
#include "profile/counts.hpp"
#include "profile/devices.hpp"
#include "solution/solution.hpp"

#include <memory>

namespace prenorm::harness::profile {

struct ProfileOptions {
  Selection selection;              // problems, cases, dtypes, fixtures
  std::vector<std::string> shapes;  // names or globs, of the profile's list and of the bench's
  std::vector<std::string> solutions;
  std::map<std::string, std::filesystem::path> compiled;  // the libraries of those that are sources
  std::string device = "h100";
  unsigned threads = processors();
  double timeout = 600;
  std::uint64_t seed = 0;
};

/// One call: its arguments, and what it must move and compute at least.
struct Work {
  std::string problem, shape;  // of the list, or a case
  DType dtype = DType::float32;
  Signature signature;
  Case info;
  std::vector<std::optional<Tensor>> inputs;
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
  std::vector<ProfileRow> rows;
};

/// Where the shapes and the devices' figures lie.
std::filesystem::path data_folder();

/// Profiles the selected problems. Throws UsageError for a word that names nothing.
ProfileReport run_profile(const ProfileOptions& options);

}  // namespace prenorm::harness::profile
