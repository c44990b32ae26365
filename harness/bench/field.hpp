// Solutions and peers, and who is timed at which workload.
#pragma once

#include "bench/contestant.hpp"
#include "bench/selected_workloads.hpp"

#include <set>

namespace prenorm::harness::bench {

/// Where the shapes and the peers' programs lie.
std::filesystem::path data_folder();

class Field {
 public:
  /// Throws UsageError where no solution can run, or a named one or a peer cannot.
  explicit Field(const BenchOptions& options);

  /// Those of the CPU at its shapes, those of the device at the device's; where solutions and
  /// shapes are both named, all of them.
  std::vector<Contestant*> at(const Workload& workload);

  /// The sets at which somebody is at home: those that are run by default.
  std::set<std::string> sets();

  /// Do peers take this workload on a device?
  bool has_device_peers(const Workload& workload);

  std::optional<double> device_copy();

  PeerProcess* first_peer() { return peer_process_.get(); }

 private:
  void add(const std::string& name);
  void add_peer(const std::string& python, const BenchOptions& options);
  bool any_on_device();

  bool named_, anywhere_;
  Solution::Options limits_;
  std::vector<std::unique_ptr<SolutionContestant>> solutions_;
  std::vector<std::unique_ptr<PeerContestant>> peers_, device_peers_;
  std::shared_ptr<PeerProcess> peer_process_;
};

}  // namespace prenorm::harness::bench
