// A run of `bench`: ceilings and all selected workloads, with the line of progress.
#pragma once

#include "bench/bench_report.hpp"
#include "bench/field.hpp"

namespace prenorm::harness::bench {

/// Times the contestants at the selected workloads. Throws UsageError for a peer's file that cannot
/// be used.
BenchReport run_bench(const BenchOptions& options, Workloads workloads, Field& field);

/// The harness's comparing and numpy's in turn over the same arrays, which hardly differ.
CompareTimes time_comparing(PeerProcess& peer, const BenchOptions& options);

}  // namespace prenorm::harness::bench
