// A run of `bench`: what it found, and its forms: JSON, a picture, and peers' files read back.
#pragma once

#include "bench/measure.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace prenorm::harness::bench {

/// The harness's own comparing beside numpy's, in the same run.
struct CompareTimes {
  std::int64_t elements = 0;
  Times ours, numpy;
};

struct BenchReport {
  std::vector<std::pair<std::string, std::string>> environment;
  unsigned threads = 1;
  std::string file;  // of the shapes
  Ceilings cpu, device;
  std::vector<Row> rows;
  std::optional<CompareTimes> compare;

  const Ceilings& ceilings(const Row& row) const { return row.on_device ? device : cpu; }
};

/// Another contestant's row at the same workload; nullptr where there is none with a time.
const Row* find_rival(const BenchReport& report, const Row& row, const std::string& rival);

/// Bytes a second where copying is the row's roof, operations a second where the product is.
double rate(const Row& row, const Ceilings& ceilings);

/// Time at the ceiling over the row's median; 0 where no ceiling is known.
double share(const Row& row, const Ceilings& ceilings);

/// "22.4 GB/s", "1.27 TFLOP/s".
std::string rate_text(double rate, bool flops);

/// One object, indented, with a newline at its end. Its form: README.md beside this file.
std::string to_json(const BenchReport& report);

/// The same in lines of an object each: first what is known of the run, then a row per line.
std::string to_json_lines_head(const BenchReport& report);
std::string to_json_line(const Row& row, const BenchReport& report);

/// For a terminal: the ceilings, a table with a row per workload and solution, and what failed.
std::string bench_text(const BenchReport& report, bool colour);
/// A table of the workloads, before they are timed.
std::string list_of(const std::vector<std::shared_ptr<const Workload>>& workloads, bool colour);

/// A roofline: rate over operations a byte, the ceilings, a numbered point a row, and a list of the
/// numbers. One panel for the CPU, one for the device, where there are rows.
std::string to_svg(const BenchReport& report);

/// What is going to be timed: a workload and whether on a device.
using Plan = std::vector<std::pair<std::shared_ptr<const Workload>, bool>>;

/// Reads rows that a peer has written by itself, for the workloads of the plan.
///
/// Throws std::runtime_error where the file is none, was measured with another number of threads,
/// on another processor or at other shapes, or has no row of this plan.
std::vector<Row> read_peer(const std::string& path, const Plan& plan, unsigned threads,
                           const std::string& processor);

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
