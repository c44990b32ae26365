// A run of `bench`. Who is timed: a solution in its worker, or a peer, a program that computes the
// same with another library (contestant.cpp). The measurement (measure.cpp): contestants in turn,
// fresh values in every call, every output checked; times, and what the machine can do at most. Its
// reports (bench_report.cpp, svg.cpp). Who is timed at which workload, ceilings, progress
// (bench_run.cpp).
#pragma once

#include "base/json.hpp"
#include "base/open_file.hpp"
#include "base/process.hpp"
#include "bench/workload.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prenorm::harness::bench {

/// One side of the comparison.
class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual const std::string& label() const = 0;
  virtual bool is_peer() const = 0;
  /// Does it run on a device of its own, with caches and a bandwidth of its own?
  virtual bool on_device() = 0;
  /// "tf32", or empty.
  virtual std::string mode() const { return ""; }
  /// One call. `seconds` is the function's own time; NOT_IMPLEMENTED where there is none. The
  /// message of a call that passed is a note on how it was computed.
  virtual Outcome call(const Workload& workload, const Inputs& inputs) = 0;
};

/// A solution, called as `verify` calls it.
///
/// All that differs on a device is here: caches made cold before a call, time by the device's own
/// events, the bandwidth of its memory.
class SolutionContestant final : public Contestant {
 public:
  explicit SolutionContestant(Solution solution) : solution_(std::move(solution)) {}

  const std::string& label() const override { return solution_.label(); }
  bool is_peer() const override { return false; }
  std::string mode() const override { return solution_.mode(); }
  Outcome call(const Workload& workload, const Inputs& inputs) override;

  Solution& solution() { return solution_; }
  bool on_device() override { return solution_.load() && solution_.on_device(); }
  /// Bytes a second of a large copy on that device; nothing for the CPU.
  std::optional<double> copy_bandwidth() {
    return on_device() ? solution_.copy_bandwidth() : std::nullopt;
  }

 private:
  Solution solution_;
};

/// A file in memory, which others of our processes may open by its path, and which is gone with us.
class MemoryFile {
 public:
  MemoryFile();  // throws std::runtime_error

  std::string path() const;
  /// Both throw std::runtime_error; the file holds just these bytes, or must.
  void write(const std::vector<std::byte>& data);
  void read(std::vector<std::byte>& data) const;

 private:
  OpenFile file_;
};

/// A program that answers requests over descriptor 3, each a length (4 bytes, little-endian) and
/// JSON. Tensors go through files in memory.
///
///   (first, unasked)            {"name": "pytorch 2.9.1", "threads": 2, "variants":
///                                {"eager": null, "flash": ["scaled_dot_product_attention"]}}:
///                               each with the problems that it is for, null for all
///   {"do": "call", "variant", "problem", "device", "inputs": {name: {"file", "dtype", "shape",
///    "draw"}}, "scalars": {...}, "outputs": [{"file"}]}
///                               {"seconds": 0.001, "note": "takes flash"}, {"absent": why} or
///                               {"error": why}
///   {"do": "compare", "actual": {tensor}, "expected": {tensor}, "atol", "rtol"}
///                               {"seconds": 0.001}: numpy.testing.assert_allclose
class PeerProcess {
 public:
  struct Variant {
    std::string name;
    std::optional<std::vector<std::string>> problems;  // that it is for; nothing: all
  };

  /// Starts PYTHON SCRIPT --serve OPTIONS... Throws std::runtime_error where it does not answer.
  PeerProcess(const std::string& python, const fs::path& script,
              const std::vector<std::string>& options);
  const std::string& name() const { return name_; }
  const std::vector<Variant>& variants() const { return variants_; }

  /// Throws std::runtime_error where the process has ended or takes more than ten minutes: then it
  /// is ended.
  Outcome call(const std::string& variant, const Workload& workload, const Inputs& inputs,
               bool on_device);
  double compare_seconds(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

 private:
  Json ask(const Json& request);
  Json receive();
  Json stored(const Tensor& tensor, const std::string& name);

  std::map<std::string, MemoryFile> files_;
  std::unique_ptr<Process> process_;
  std::string name_;
  std::vector<Variant> variants_;
};

/// One way in which a peer computes: "pytorch 2.9.1 eager".
class PeerContestant final : public Contestant {
 public:
  PeerContestant(std::shared_ptr<PeerProcess> peer, PeerProcess::Variant variant, bool on_device)
      : peer_(std::move(peer)),
        variant_(std::move(variant)),
        label_(peer_->name() + " " + variant_.name),
        on_device_(on_device) {}

  const std::string& label() const override { return label_; }
  bool is_peer() const override { return true; }
  bool on_device() override { return on_device_; }
  /// Who forces a backend of attention is for attention only.
  bool is_for(const std::string& problem) const {
    return !variant_.problems ||
           std::ranges::find(*variant_.problems, problem) != variant_.problems->end();
  }
  Outcome call(const Workload& workload, const Inputs& inputs) override {
    return peer_->call(variant_.name, workload, inputs, on_device_);
  }

 private:
  std::shared_ptr<PeerProcess> peer_;
  PeerProcess::Variant variant_;
  std::string label_;
  bool on_device_;
};

/// The times of one row, in a few numbers.
struct Times {
  double min = 0, q1 = 0, median = 0, q3 = 0, max = 0;  // seconds
  std::size_t samples = 0;

  /// Half the distance of the quartiles over the median: 0.02 is a quiet measurement.
  double spread() const { return median > 0 ? (q3 - q1) / 2 / median : 0; }
};

/// Quartiles by linear interpolation between the sorted samples (as numpy.percentile does); all 0
/// where there is no sample.
Times summarize_times(std::vector<double> seconds);

/// Bytes a second, read and written counted both, of copies between two arrays by that many
/// threads: the best of several.
double copy_bandwidth(std::size_t bytes_moved, unsigned threads);

/// How products are taken: the dtype's name, or "tf32" for float32 in that mode.
std::string arithmetic(DType dtype, const std::string& mode);

/// What one place (the CPU, a device) can do at most, measured in the same run: the roof of every
/// row.
struct Ceilings {
  /// Of a copy far larger than any cache.
  double copy = 0;
  /// Of smaller copies, by bytes moved, which caches may help. A shape of that many bytes cannot
  /// be faster; empty for a device, whose caches are cold.
  std::map<double, double> cached_copies;
  /// Operations a second of the fastest large product, by arithmetic(); absent where none was
  /// measured.
  std::map<std::string, double> products;

  /// Measures the CPU's copies and keeps the best of what is known.
  void measure_cpu_copies(unsigned threads);

  /// The fastest that so many bytes were ever moved: the best copy of at least half that size.
  double fastest_copy(double bytes) const;
};

/// Which roof a workload lies under for a contestant of that mode, and how long it takes at least.
struct Roof {
  bool by_product = false;  // else by copying
  double seconds = 0;       // at the ceiling: share = seconds / time
};
Roof roof(const Workload& workload, const std::string& mode, const Ceilings& ceilings);

/// A time below this is no speed but an error of the measurement: the bytes at the fastest copy, or
/// the operations at the fastest product, less a quarter that ceilings may err by. On a device,
/// where a cache may keep the outputs, only what must be read counts.
double floor_seconds(const Workload& workload, const std::string& mode, const Ceilings& ceilings);

/// What is wrong with outputs, compared with `fast` in float64 on the same inputs: a wrong
/// answer has no speed.
///
/// This is to catch work that was left out, not the last digit: that is what fixtures are for. The
/// tolerance is atol = c rms(expected) and rtol = c, with c = 1024 eps(T) for float64 and float32
/// (sums of thousands of terms), 8 eps(T) for 16-bit types, and 8 * 2^-10 under tf32; the rms is
/// that of all, or of the element's row of the last axis if that is more. NaN fails.
class Checker {
 public:
  explicit Checker(std::uint64_t seed);

  /// Computes the truth for these inputs: all of it where that takes no more than about a second,
  /// else some rows of the batch picked at random; where even one row takes longer, all of it
  /// for the first call of a workload and nothing (`any()` is false) for the others.
  ///
  /// Throws std::runtime_error where `fast` fails.
  void prepare(const Workload& workload, const Inputs& inputs, bool first, Solution& truth);
  bool any() const { return !expected_.empty(); }

  /// Empty where they are right, else one line.
  std::string complaint(const std::vector<Tensor>& outputs, const std::string& mode) const;

 private:
  std::mt19937_64 random_;
  const Workload* workload_ = nullptr;
  std::vector<std::int64_t> rows_;  // of the batch; empty: all
  std::vector<Tensor> expected_;
};

enum class Verdict {
  ok,
  wrong,       // an output is not what it must be: no time counts
  impossible,  // faster than the machine: an error of the measurement
  absent,      // the contestant has no such function
  failed,      // a call failed
};

/// "OK", "WRONG", ...
std::string_view name(Verdict verdict);

/// One contestant at one workload.
struct Row {
  std::shared_ptr<const Workload> workload;
  std::string contestant;
  bool is_peer = false;
  bool on_device = false;  // so its roof is the device's
  std::string mode;        // "tf32", or empty
  Verdict verdict = Verdict::ok;
  std::string message;          // why, where not ok
  std::string note;             // what a peer says of how it computed: "takes flash"
  std::vector<double> seconds;  // of the timed calls, in their order; those before a failure too
  Times times;

  bool has_time() const { return verdict == Verdict::ok && times.samples > 0; }
};

struct Settings {
  int samples = 11;
  int warm_ups = 2;      // calls that are not timed
  double settle = 0.04;  // seconds before each call: threads of the last one stop spinning
};

/// Times the contestants at a workload, in turn: A B A B ... Each turn has values of its own, the
/// same for all. `progress` is called before each turn.
std::vector<Row> measure(std::shared_ptr<const Workload> workload,
                         const std::vector<Contestant*>& contestants, Values& values,
                         Checker& checker, Solution& truth, const Settings& settings,
                         const std::function<void(int)>& progress);

/// True where the row's fastest call took less than the floor.
bool is_below_floor(const Row& row, const Ceilings& ceilings);

/// Marks the row as impossible where it is below the floor.
void judge_floor(Row& row, const Ceilings& ceilings);

/// The rate of the row's fastest call becomes the product ceiling of its arithmetic, if none is
/// higher.
void raise_product_ceiling(const Row& row, Ceilings& ceilings);

/// The harness's own comparing beside numpy's, in the same run.
struct CompareTimes {
  std::int64_t elements = 0;
  Times ours, numpy;
};

struct BenchReport {
  Json environment;
  unsigned threads = 1;
  std::string file;  // of the shapes
  Ceilings cpu, device;
  std::vector<Row> rows;
  std::optional<CompareTimes> compare;

  const Ceilings& ceilings(const Row& row) const { return row.on_device ? device : cpu; }
};

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

/// Where the shapes and the peers' programs lie.
fs::path data_folder();

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
