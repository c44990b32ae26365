// The measurement: contestants in turn, fresh values in every call, every output checked; times,
// and what the machine can do at most.
#pragma once

#include "bench/contestant.hpp"
#include "bench/values.hpp"
#include "bench/workload.hpp"
#include "solution/solution.hpp"

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace prenorm::harness::bench {

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

/// What is wrong with outputs, compared with the reference in float64 on the same inputs: a wrong
/// answer has no speed.
///
/// This is to catch work that was left out, not the last digit: that is what fixtures are for. The
/// tolerance is atol = c rms(expected) and rtol = c, with c = 1024 eps(T) for float64 and float32
/// (sums of thousands of terms), 8 eps(T) for 16-bit types, and 8 * 2^-10 under tf32. NaN fails.
class Checker {
 public:
  explicit Checker(std::uint64_t seed);

  /// Computes the truth for these inputs: all of it where that takes no more than about a second,
  /// else some rows of the batch picked at random; where even one row takes longer, all of it
  /// for the first call of a workload and nothing (`any()` is false) for the others.
  ///
  /// Throws std::runtime_error where the reference fails.
  void prepare(const Workload& workload, const std::vector<std::optional<Tensor>>& inputs,
               bool first, Solution& truth);
  bool any() const { return !expected_.empty(); }

  /// Empty where they are right, else one line.
  std::string complaint(const std::vector<Tensor>& outputs, const std::string& mode) const;

 private:
  std::mt19937_64 random_;
  const Workload* workload_ = nullptr;
  std::vector<std::int64_t> rows_;  // of the batch; empty: all
  std::vector<Tensor> expected_;
};

/// The rows of the batch that a tensor holds for those of the whole batch, one behind the other:
/// [..., dims] becomes [rows, dims]. A tensor without batch axes of its own stays as it is.
Tensor rows_of(const Tensor& tensor, std::size_t named_axes, const Shape& batch,
               const std::vector<std::int64_t>& rows);

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

}  // namespace prenorm::harness::bench
