// A run of `bench`: ceilings and all selected workloads, with the line of progress.
#pragma once

#include "bench/bench_report.hpp"
#include "bench/field.hpp"

#include <functional>

namespace prenorm::harness::bench {

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
