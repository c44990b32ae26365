// The measurement: contestants in turn, fresh values in every call, every output checked.
#pragma once

#include "bench/ceilings.hpp"
#include "bench/check.hpp"
#include "bench/contestant.hpp"
#include "bench/statistics.hpp"
#include "bench/values.hpp"

#include <functional>

namespace prenorm::harness::bench {

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
