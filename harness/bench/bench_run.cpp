#include "bench/bench.hpp"

#include "base/paths.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "fixture/verdict.hpp"
#include "fixture/draw.hpp"
#include "report/report.hpp"

#include <chrono>
#include <fmt/format.h>

namespace prenorm::harness::bench {
namespace {

/// The whole measurement.
class Bench {
 public:
  Bench(const BenchOptions& options, Workloads workloads, Field& field, const Keep& keep)
      : options_(options),
        workloads_(std::move(workloads)),
        field_(field),
        keep_(keep),
        values_(options.seed),
        checker_(options.seed),
        truth_(find_solution(
            "fast", {.in_process = false, .limits = {.seconds = options.timeout, .bytes = 0}})) {
    settings_.samples = options.samples;
    report_.environment = describe_environment();
    report_.threads = options_.threads;
    report_.file = options_.file;
    if (!truth_.load()) throw UsageError("fast: " + truth_.message());
    const std::set<std::string> sets = field_.sets();
    for (const auto& workload : workloads_) {
      const bool in_set = !options_.set.empty() || sets.contains(workload->entry.set);
      if (in_set && is_selected(*workload, options_)) selected_.push_back(workload);
    }
    read_peers();
  }

  BenchReport run() {
    if (selected_.empty()) return std::move(report_);
    measure_copies();
    keep_(report_, 0);
    measure_products();
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      if (selected_[i]->entry.product_ceiling) continue;  // done
      what_ = fmt::format("[{}/{}] {}", i + 1, selected_.size(), selected_[i]->key());
      add(measure_one(selected_[i]));
    }
    add(std::move(peers_));
    // Noise may have kept a ceiling low: who seems to be beyond it has it measured again.
    for (int again = 0; again < 2 && anybody_beyond(); ++again) {
      measure_copies();
      measure_products();
    }
    for (Row& row : report_.rows) judge_floor(row, report_.ceilings(row));
    return std::move(report_);
  }

 private:
  /// Reports a file that cannot be used before the work.
  void read_peers() {
    Plan plan;
    for (const auto& workload : selected_) {
      plan.emplace_back(workload, field_.has_device_peers(*workload));
    }
    const std::string processor = report_.environment.value("processor", "");
    for (const std::string& path : options_.peers) {
      std::ranges::move(as_usage<std::runtime_error>(
                            [&] { return read_peer(path, plan, options_.threads, processor); }),
                        std::back_inserter(peers_));
    }
  }

  std::vector<Row> measure_one(const std::shared_ptr<const Workload>& workload) {
    return measure(
        workload, field_.at(*workload), values_, checker_, truth_, settings_, [this](int turn) {
          progress_.show(turn < 0
                             ? what_ + ", warming up"
                             : fmt::format("{}, {} of {}", what_, turn + 1, settings_.samples));
        });
  }

  void measure_copies() {
    progress_.show("copying, for the ceiling");
    const bool any_on_cpu =
        !peers_.empty() || std::ranges::any_of(selected_, [this](const auto& workload) {
          return std::ranges::any_of(field_.at(*workload),
                                     [](Contestant* each) { return !each->on_device(); });
        });
    if (any_on_cpu) report_.cpu.measure_cpu_copies(options_.threads);
    if (const auto bandwidth = field_.device_copy()) {
      report_.device.copy = std::max(report_.device.copy, *bandwidth);
    }
  }

  /// Times the ceilings' workloads for the dtypes and places that are selected. Their rows stay in
  /// the report where they are selected themselves.
  void measure_products() {
    for (const auto& ceiling : workloads_) {
      if (!ceiling->entry.product_ceiling) continue;
      const bool wanted = std::ranges::any_of(selected_, [&](const auto& workload) {
        return workload->dtype == ceiling->dtype && workload->entry.set == ceiling->entry.set;
      });
      if (!wanted) continue;
      what_ = "ceiling, " + ceiling->key();
      std::vector<Row> rows = measure_one(ceiling);
      for (const Row& row : rows) {
        raise_product_ceiling(row, row.on_device ? report_.device : report_.cpu);
      }
      const bool is_new = std::ranges::none_of(
          report_.rows, [&](const Row& row) { return row.workload->key() == ceiling->key(); });
      const bool shown = std::ranges::find(selected_, ceiling) != selected_.end();
      if (is_new && shown) add(std::move(rows));
    }
  }

  void add(std::vector<Row> rows) {
    const std::size_t first = report_.rows.size();
    std::ranges::move(rows, std::back_inserter(report_.rows));
    keep_(report_, first);
  }

  bool anybody_beyond() const {
    return std::ranges::any_of(report_.rows, [this](const Row& row) {
      return is_below_floor(row, report_.ceilings(row));
    });
  }

  const BenchOptions& options_;
  Workloads workloads_, selected_;
  std::vector<Row> peers_;  // measured elsewhere
  Field& field_;
  const Keep& keep_;
  Values values_;
  Checker checker_;
  Solution truth_;
  Settings settings_;
  BenchReport report_;
  Progress progress_;
  std::string what_;
};

}  // namespace

fs::path data_folder() { return home() / "share/prenorm/bench"; }

Field::Field(const BenchOptions& options)
    : named_(!options.solutions.empty()), anywhere_(named_ && !options.set.empty()) {
  limits_.limits = {.seconds = options.timeout, .bytes = 0};
  limits_.in_process = options.in_process;
  std::vector<std::string> names = options.solutions;
  if (!named_) names = shipped_solutions();
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) add(name);
  }
  if (solutions_.empty()) {
    throw UsageError("no solution can run here; --solution PATH names one");
  }
  for (const std::string& python : options.pythons) add_peer(python, options);
}

std::vector<Contestant*> Field::at(const Workload& workload) {
  std::vector<Contestant*> all;
  for (const auto& solution : solutions_) {
    const bool at_home = solution->on_device() == (workload.entry.set == "device");
    if (anywhere_ || at_home) all.push_back(solution.get());
  }
  if (all.empty()) return all;
  for (const auto& peer : has_device_peers(workload) ? device_peers_ : peers_) {
    if (peer->is_for(workload.entry.problem)) all.push_back(peer.get());
  }
  return all;
}

std::set<std::string> Field::sets() {
  std::set<std::string> sets;
  for (const auto& solution : solutions_) sets.insert(solution->on_device() ? "device" : "cpu");
  return sets;
}

bool Field::has_device_peers(const Workload& workload) {
  return workload.entry.set == "device" && any_on_device();
}

std::optional<double> Field::device_copy() {
  for (const auto& solution : solutions_) {
    if (const auto bandwidth = solution->copy_bandwidth()) return bandwidth;
  }
  return std::nullopt;
}

void Field::add(const std::string& name) {
  auto contestant = std::make_unique<SolutionContestant>(solution_of_user(name, limits_));
  const bool loads = contestant->solution().load();
  if (named_ && !loads) throw UsageError(name + ": " + contestant->solution().message());
  // By default `fast` and what runs on a device: others are not there to be fast.
  if (named_ || (loads && (name == "fast" || contestant->on_device()))) {
    solutions_.push_back(std::move(contestant));
  }
}

void Field::add_peer(const std::string& python, const BenchOptions& options) {
  const bool has_device = any_on_device();
  std::vector<std::string> words{"--threads", std::to_string(options.threads)};
  if (options.compile) words.emplace_back("--compile");
  if (has_device) words.insert(words.end(), {"--device", "cuda"});
  const auto peer = as_usage<std::runtime_error>([&] {
    return std::make_shared<PeerProcess>(python, data_folder() / "peers/pytorch.py", words);
  });
  for (const PeerProcess::Variant& variant : peer->variants()) {
    peers_.push_back(std::make_unique<PeerContestant>(peer, variant, false));
    if (has_device) device_peers_.push_back(std::make_unique<PeerContestant>(peer, variant, true));
  }
  if (!peer_process_) peer_process_ = peer;
}

bool Field::any_on_device() {
  return std::ranges::any_of(solutions_, [](const auto& each) { return each->on_device(); });
}

BenchReport run_bench(const BenchOptions& options, Workloads workloads, Field& field,
                      const Keep& keep) {
  return Bench(options, std::move(workloads), field, keep).run();
}

CompareTimes time_comparing(PeerProcess& peer, const BenchOptions& options) {
  constexpr std::int64_t elements = 10'000'000;
  CompareTimes times;
  times.elements = elements;
  std::vector<double> ours, numpy;
  auto random = generator(options.seed, "bench/compare");
  Tensor actual(DType::float32, {elements}), expected(DType::float64, {elements});
  for (int turn = -1; turn < options.samples; ++turn) {
    for (std::int64_t i = 0; i < elements; ++i) {
      const double value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      expected.set(i, value);
      actual.set(i, value);
    }
    const Tolerance tolerance{1e-6, 1e-6};
    const auto start = std::chrono::steady_clock::now();
    const OutputReport report = compare("y", actual, expected, tolerance);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (report.mismatches > 0) throw std::logic_error("equal arrays were found to differ");
    const double theirs = peer.compare_seconds(actual, expected, tolerance);
    if (turn < 0) continue;
    ours.push_back(seconds.count());
    numpy.push_back(theirs);
  }
  times.ours = summarize_times(ours);
  times.numpy = summarize_times(numpy);
  return times;
}

}  // namespace prenorm::harness::bench
