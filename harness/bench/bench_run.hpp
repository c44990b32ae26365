// A run of `bench`: solutions and peers, who is timed at which workload, ceilings, progress.
#pragma once

#include "bench/bench_report.hpp"
#include "bench/contestant.hpp"
#include "bench/workload.hpp"

#include <functional>
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

/// Called before the first row, and whenever rows have been added: with all that is known by then,
/// and the index of the first new row.
using Keep = std::function<void(const BenchReport& report, std::size_t first)>;

/// Times the contestants at the selected workloads. Throws UsageError for a peer's file that cannot
/// be used.
BenchReport run_bench(const BenchOptions& options, Workloads workloads, Field& field,
                      const Keep& keep);

/// The harness's comparing and numpy's in turn over the same arrays, which hardly differ.
CompareTimes time_comparing(PeerProcess& peer, const BenchOptions& options);

}  // namespace prenorm::harness::bench
