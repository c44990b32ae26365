#include "bench/measure.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <thread>

namespace prenorm::harness::bench {
namespace {

/// One call, after a rest; what a peer throws becomes an outcome.
Outcome call(Contestant& contestant, const Workload& workload, const Inputs& inputs,
             const Settings& settings) {
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.settle));
  try {
    return contestant.call(workload, inputs);
  } catch (const std::exception& error) {
    Outcome outcome;
    outcome.status = Status::runtime_error;
    outcome.message = printable(error.what(), 500);
    return outcome;
  }
}

/// Takes in what went wrong, if anything did.
void take(const Outcome& outcome, Row& row) {
  if (outcome.status == Status::passed) return;
  // Elements that were not written are a wrong answer, too.
  row.verdict = outcome.status == Status::not_implemented       ? Verdict::absent
                : outcome.status == Status::incorrect_numerical ? Verdict::wrong
                                                                : Verdict::failed;
  if (row.verdict == Verdict::absent) {
    row.message = outcome.message;  // the verdict says the rest
  } else {
    row.message = std::string(name(outcome.status)) + ": " + outcome.message;
  }
}

double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok: return "OK";
    case Verdict::wrong: return "WRONG";
    case Verdict::impossible: return "IMPOSSIBLE";
    case Verdict::absent: return "NOT_IMPLEMENTED";
    case Verdict::failed: return "FAILED";
  }
  return "";
}

std::vector<Row> measure(std::shared_ptr<const Workload> workload,
                         const std::vector<Contestant*>& contestants, Values& values,
                         Checker& checker, Solution& truth, const Settings& settings,
                         const std::function<void(int)>& progress) {
  std::vector<Row> rows(contestants.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].workload = workload;
    rows[i].contestant = contestants[i]->label();
    rows[i].is_peer = contestants[i]->is_peer();
    rows[i].on_device = contestants[i]->on_device();
    rows[i].mode = contestants[i]->mode();
  }
  const auto anybody_left = [&rows] {
    return std::ranges::any_of(rows, [](const Row& row) { return row.verdict == Verdict::ok; });
  };
  for (int turn = -settings.warm_ups; turn < settings.samples && anybody_left(); ++turn) {
    progress(turn);
    const Inputs inputs = values.fresh(*workload);
    std::vector<Outcome> outcomes(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].verdict != Verdict::ok) continue;
      outcomes[i] = call(*contestants[i], *workload, inputs, settings);
      take(outcomes[i], rows[i]);
    }
    if (turn < 0 || !anybody_left()) continue;
    checker.prepare(*workload, inputs, turn == 0, truth);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      if (row.verdict != Verdict::ok) continue;
      row.seconds.push_back(outcomes[i].seconds);
      if (row.is_peer) row.note = outcomes[i].message;
      row.message = checker.complaint(outcomes[i].outputs, contestants[i]->mode());
      if (!row.message.empty()) row.verdict = Verdict::wrong;
    }
  }
  for (Row& row : rows) row.times = summarize_times(row.seconds);
  return rows;
}

bool is_below_floor(const Row& row, const Ceilings& ceilings) {
  return row.has_time() && !(row.times.min >= floor_seconds(*row.workload, row.mode, ceilings));
}

void judge_floor(Row& row, const Ceilings& ceilings) {
  if (!is_below_floor(row, ceilings)) return;
  row.verdict = Verdict::impossible;
  row.message = duration(row.times.min) + " is below the floor of " +
                duration(floor_seconds(*row.workload, row.mode, ceilings)) +
                " that bytes and operations need on this machine: an error of the measurement";
}

void raise_product_ceiling(const Row& row, Ceilings& ceilings) {
  if (!row.has_time() || !(row.times.min > 0)) return;
  double& best = ceilings.products[arithmetic(row.workload->dtype, row.mode)];
  best = std::max(best, row.workload->flops / row.times.min);
}

Times summarize_times(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {seconds.front(),         quantile(seconds, 0.25), quantile(seconds, 0.5),
          quantile(seconds, 0.75), seconds.back(),          seconds.size()};
}

}  // namespace prenorm::harness::bench
