// What a run of `bench` times: the workloads of a file of shapes, and those that are selected.
#pragma once

#include "base/parallel.hpp"
#include "bench/workload.hpp"
#include "fixture/selection.hpp"

#include <memory>

namespace prenorm::harness::bench {

struct BenchOptions {
  Selection selection;  // problems, dtypes, fixtures
  std::vector<std::string> shapes, solutions, pythons, peers;
  std::string file, set;
  int samples = 11;
  unsigned threads = processors();
  double timeout = 600;
  std::uint64_t seed = 0;
  bool compile = false, in_process = false;
};

using Workloads = std::vector<std::shared_ptr<const Workload>>;

/// The entries of the file in each of their dtypes, checked against the signatures of the fixtures.
/// In the order of the options' shapes, then of the file.
/// Throws UsageError for a file that cannot be used, and for a selected name that it does not have.
Workloads read_workloads(const BenchOptions& options);

bool is_selected(const Workload& workload, const BenchOptions& options);

}  // namespace prenorm::harness::bench
