// prenorm bench: solutions and peers in turn at the shapes of real models.
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/home.hpp"
#include "base/parallel.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "bench/bench_report.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "fixture/compare.hpp"
#include "fixture/draw.hpp"
#include "fixture/selection.hpp"
#include "report/report.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace prenorm::harness {
namespace {

using namespace bench;
namespace fs = std::filesystem;

struct Options {
  Selection selection;  // problems, dtypes, fixtures
  std::vector<std::string> shapes, solutions, pythons, peers;
  std::string file, set, json, svg;
  int samples = 11;
  unsigned threads = processors();
  double timeout = 600;
  std::uint64_t seed = 0;
  bool list = false, quick = false, compare = false, compile = false, no_color = false;
};

fs::path data_folder() { return home() / "share/prenorm/bench"; }

bool fits(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return matches(pattern, name);
         });
}

/// Throws where a pattern fits none of the names.
void require_any(const std::vector<std::string>& patterns, const std::set<std::string>& names,
                 const std::string& what) {
  const std::vector<std::string> candidates(names.begin(), names.end());
  for (const std::string& pattern : patterns) {
    if (std::ranges::none_of(names, [&](const auto& name) { return matches(pattern, name); })) {
      throw UsageError("no " + what + " '" + pattern + "' among the shapes" +
                       did_you_mean(pattern, candidates));
    }
  }
}

using Workloads = std::vector<std::shared_ptr<const Workload>>;

/// The entries in each of their dtypes, held against the signatures of the fixtures.
Workloads bind_all(const std::vector<Entry>& entries, const Options& options) {
  Selection needed;
  needed.fixtures = options.selection.fixtures;
  for (const Entry& entry : entries) needed.problems.push_back(entry.problem);
  std::map<std::string, Signature> signatures;
  for (const File& file : open_files(needed, processors(), Requirements{.tolerances = false})) {
    if (!file.fixture) throw UsageError(file.error);
    signatures.emplace(file.problem, file.fixture->signature());
  }
  Workloads workloads;
  for (const Entry& entry : entries) {
    for (const DType dtype : entry.dtypes) {
      try {
        workloads.push_back(std::make_shared<const Workload>(
            bind_entry(entry, dtype, signatures.at(entry.problem))));
      } catch (const BadShapes& error) {
        throw UsageError(options.file + ": " + error.what());
      }
    }
  }
  return workloads;
}

bool is_selected(const Workload& workload, const Options& options) {
  const std::vector<std::string>& dtypes = options.selection.dtypes;
  return fits(options.selection.problems, workload.entry.problem) &&
         fits(options.shapes, workload.entry.name) &&
         (dtypes.empty() || std::ranges::find(dtypes, name(workload.dtype)) != dtypes.end()) &&
         (options.set.empty() || options.set == workload.entry.set);
}

void check_names(const std::vector<Entry>& entries, const Options& options) {
  std::set<std::string> names, problems, dtypes;
  for (const Entry& entry : entries) {
    names.insert(entry.name);
    problems.insert(entry.problem);
    for (const DType dtype : entry.dtypes) dtypes.insert(std::string(name(dtype)));
  }
  require_any(options.shapes, names, "shape");
  require_any(options.selection.problems, problems, "problem");
  require_any(options.selection.dtypes, dtypes, "dtype");
}

std::string shapes_text(const Workload& workload) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < workload.info.inputs.size(); ++i) {
    const auto& input = workload.info.inputs[i];
    if (input) parts.push_back(workload.signature.inputs[i].name + to_text(input->type.shape));
  }
  return joined(parts, " ");
}

std::string list_of(const Workloads& workloads, bool colour) {
  Table table{{"shape", "problem", "dtype", "set", "inputs", "model"}, {}};
  for (const auto& workload : workloads) {
    table.rows.push_back({{workload->entry.name, Tone::strong},
                          {workload->entry.problem},
                          {std::string(name(workload->dtype))},
                          {workload->entry.set},
                          {shapes_text(*workload)},
                          {workload->entry.model, Tone::quiet}});
  }
  return render(table, colour);
}

/// Solutions and peers, and who is timed at which workload.
class Field {
 public:
  explicit Field(const Options& options)
      : named_(!options.solutions.empty()), anywhere_(named_ && !options.set.empty()) {
    limits_.limits = {.seconds = options.timeout, .bytes = 0};
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

  /// Those of the CPU at its shapes, those of the device at the device's; where solutions and
  /// shapes are both named, all of them.
  std::vector<Contestant*> at(const Workload& workload) {
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

  /// The sets at which somebody is at home: those that are run by default.
  std::set<std::string> sets() {
    std::set<std::string> sets;
    for (const auto& solution : solutions_) sets.insert(solution->on_device() ? "device" : "cpu");
    return sets;
  }

  /// Do peers take this workload on a device?
  bool has_device_peers(const Workload& workload) {
    return workload.entry.set == "device" &&
           std::ranges::any_of(solutions_, [](const auto& each) { return each->on_device(); });
  }

  std::optional<double> device_copy() {
    for (const auto& solution : solutions_) {
      if (const auto bandwidth = solution->copy_bandwidth()) return bandwidth;
    }
    return std::nullopt;
  }

  PeerProcess* first_peer() { return peer_process_.get(); }

 private:
  void add(const std::string& name) {
    try {
      auto contestant = std::make_unique<SolutionContestant>(find_solution(name, limits_));
      const bool loads = contestant->solution().load();
      if (named_ && !loads) throw UsageError(name + ": " + contestant->solution().message());
      // By default the reference and what runs on a device: others are not there to be fast.
      if (named_ || (loads && (name == "reference" || contestant->on_device()))) {
        solutions_.push_back(std::move(contestant));
      }
    } catch (const std::invalid_argument& error) {
      throw UsageError(error.what() + did_you_mean(name, shipped_solutions()));
    }
  }

  void add_peer(const std::string& python, const Options& options) {
    const bool has_device =
        std::ranges::any_of(solutions_, [](const auto& each) { return each->on_device(); });
    std::vector<std::string> words{"--threads", std::to_string(options.threads)};
    if (options.compile) words.emplace_back("--compile");
    if (has_device) words.insert(words.end(), {"--device", "cuda"});
    try {
      const auto peer =
          std::make_shared<PeerProcess>(python, data_folder() / "peers/pytorch.py", words);
      for (const PeerProcess::Variant& variant : peer->variants()) {
        peers_.push_back(std::make_unique<PeerContestant>(peer, variant, false));
        if (has_device) {
          device_peers_.push_back(std::make_unique<PeerContestant>(peer, variant, true));
        }
      }
      if (!peer_process_) peer_process_ = peer;
    } catch (const std::runtime_error& error) {
      throw UsageError(error.what());
    }
  }

  bool named_, anywhere_;
  Solution::Options limits_;
  std::vector<std::unique_ptr<SolutionContestant>> solutions_;
  std::vector<std::unique_ptr<PeerContestant>> peers_, device_peers_;
  std::shared_ptr<PeerProcess> peer_process_;
};

/// The whole measurement.
class Bench {
 public:
  Bench(const Options& options, Workloads workloads, Field& field)
      : options_(options),
        workloads_(std::move(workloads)),
        field_(field),
        values_(options.seed),
        checker_(options.seed),
        truth_(find_solution("reference", {.in_process = false,
                                           .limits = {.seconds = options.timeout, .bytes = 0}})) {
    settings_.samples = options.samples;
    report_.environment = describe_environment();
    report_.threads = options_.threads;
    report_.file = options_.file;
    if (!truth_.load()) throw UsageError("reference: " + truth_.message());
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
    measure_products();
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      if (selected_[i]->entry.product_ceiling) continue;  // done
      what_ = fmt::format("[{}/{}] {}", i + 1, selected_.size(), selected_[i]->key());
      std::ranges::move(measure_one(selected_[i]), std::back_inserter(report_.rows));
    }
    std::ranges::move(peers_, std::back_inserter(report_.rows));
    // Noise may have kept a ceiling low: who seems to be beyond it has it measured again.
    for (int again = 0; again < 2 && anybody_beyond(); ++again) {
      measure_copies();
      measure_products();
    }
    for (Row& row : report_.rows) judge_floor(row, report_.ceilings(row));
    return std::move(report_);
  }

 private:
  /// A file that cannot be used is told before the work.
  void read_peers() {
    Plan plan;
    for (const auto& workload : selected_) {
      plan.emplace_back(workload, field_.has_device_peers(*workload));
    }
    std::string processor;
    for (const auto& [what, value] : report_.environment) {
      if (what == "processor") processor = value;
    }
    for (const std::string& path : options_.peers) {
      try {
        std::ranges::move(read_peer(path, plan, options_.threads, processor),
                          std::back_inserter(peers_));
      } catch (const std::runtime_error& error) {
        throw UsageError(error.what());
      }
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
    report_.cpu.measure_cpu_copies(options_.threads);
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
      if (is_new && shown) std::ranges::move(rows, std::back_inserter(report_.rows));
    }
  }

  bool anybody_beyond() const {
    return std::ranges::any_of(report_.rows, [this](const Row& row) {
      return is_below_floor(row, report_.ceilings(row));
    });
  }

  const Options& options_;
  Workloads workloads_, selected_;
  std::vector<Row> peers_;  // measured elsewhere
  Field& field_;
  Values values_;
  Checker checker_;
  Solution truth_;
  Settings settings_;
  BenchReport report_;
  Progress progress_;
  std::string what_;
};

/// Ours and numpy's in turn over the same arrays, which hardly differ.
CompareTimes time_comparing(PeerProcess& peer, const Options& options) {
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

std::vector<std::string> contestants_of(const BenchReport& report, bool peers) {
  std::vector<std::string> names;
  for (const Row& row : report.rows) {
    if (row.is_peer == peers && std::ranges::find(names, row.contestant) == names.end()) {
      names.push_back(row.contestant);
    }
  }
  return names;
}

std::string ceilings_text(const BenchReport& report) {
  std::string text;
  for (const auto& [place, ceilings] :
       {std::pair{fmt::format("CPU, {}", counted(report.threads, "thread")), &report.cpu},
        std::pair{std::string("device"), &report.device}}) {
    if (!(ceilings->copy > 0)) continue;
    text += "ceilings (" + place + "): copy " + rate_text(ceilings->copy, false);
    for (const auto& [arithmetic, rate] : ceilings->products) {
      text += fmt::format(", {} product {}", arithmetic, rate_text(rate, true));
    }
    text += "\n";
  }
  return text;
}

Table table_of(const BenchReport& report) {
  const std::vector<std::string> solutions = contestants_of(report, false);
  std::vector<std::string> rivals = contestants_of(report, true);
  if (solutions.size() > 1) rivals.insert(rivals.begin(), solutions.begin(), solutions.end());
  Table table{{"shape", "dtype", "solution", "time", "spread", "rate", "of ceiling"}, {}};
  for (const std::string& rival : rivals) table.head.push_back("/ " + rival);
  for (const Row& row : report.rows) {
    if (row.is_peer) continue;
    std::vector<Cell> cells{
        {row.workload->entry.name}, {std::string(name(row.workload->dtype))}, {row.contestant}};
    if (!row.has_time()) {
      const Tone tone = row.verdict == Verdict::absent ? Tone::quiet : Tone::bad;
      cells.push_back({std::string(name(row.verdict)), tone});
      table.rows.push_back(std::move(cells));
      continue;
    }
    const Ceilings& ceilings = report.ceilings(row);
    const bool by_product = roof(*row.workload, row.mode, ceilings).by_product;
    const double of_ceiling = share(row, ceilings);
    cells.push_back({duration(row.times.median), Tone::strong});
    cells.push_back({fmt::format("{:.0f} %", 100 * row.times.spread()), Tone::quiet});
    cells.push_back({rate_text(rate(row, ceilings), by_product)});
    cells.push_back({of_ceiling > 0 ? fmt::format("{:.0f} % of {}", 100 * of_ceiling,
                                                  by_product ? "product" : "copy")
                                    : "-"});
    for (const std::string& name : rivals) {
      const Row* rival = find_rival(report, row, name);
      if (rival == nullptr) {
        cells.push_back({"-", Tone::quiet});
        continue;
      }
      const double ratio = row.times.median / rival->times.median;
      const std::string note = rival->note.empty() ? "" : " " + rival->note;
      cells.push_back(
          {fmt::format("{:.2f}{}", ratio, note), ratio <= 1 ? Tone::good : Tone::plain});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// "flash does not take a float32, b float32: why", a line for each contestant and reason.
std::string absences(const BenchReport& report, bool colour) {
  std::vector<std::pair<const Row*, std::vector<std::string>>> groups;
  for (const Row& row : report.rows) {
    if (row.verdict != Verdict::absent) continue;
    auto group = std::ranges::find_if(groups, [&](const auto& each) {
      return each.first->contestant == row.contestant && each.first->message == row.message;
    });
    if (group == groups.end()) group = groups.insert(group, {&row, {}});
    group->second.push_back(row.workload->key());
  }
  std::string text;
  for (const auto& [row, shapes] : groups) {
    text += toned(row->contestant + " does not take", Tone::quiet, colour) + " " +
            joined(shapes, ", ") + ": " + printable(row->message, 500) + "\n";
  }
  return text;
}

std::string told(const BenchReport& report, bool colour) {
  std::string text = ceilings_text(report) + "\n" + render(table_of(report), colour);
  text += "\ntime: the median call; spread: half the distance of the quartiles";
  if (!contestants_of(report, true).empty() || contestants_of(report, false).size() > 1) {
    text += "; / RIVAL: this time over the rival's, below 1 is faster";
  }
  text += "\n";
  for (const Row& row : report.rows) {
    if (row.verdict == Verdict::ok || row.verdict == Verdict::absent) continue;
    text += toned(name(row.verdict), Tone::bad, colour) + "  " + row.workload->key() + " by " +
            row.contestant + ": " + printable(row.message, 500) + "\n";
  }
  text += absences(report, colour);
  if (report.compare) {
    const double ours = report.compare->ours.median, numpy = report.compare->numpy.median;
    text += fmt::format(
        "comparing {}M float32: {}, numpy.testing.assert_allclose {}: {:.2f} of its time\n",
        report.compare->elements / 1'000'000, duration(ours), duration(numpy), ours / numpy);
  }
  return text;
}

/// 1 where a solution failed or a time cannot be, 3 where no solution was timed.
int exit_code_of(const BenchReport& report) {
  bool any = false;
  for (const Row& row : report.rows) {
    if (row.verdict == Verdict::impossible) return 1;
    if (row.is_peer || row.verdict == Verdict::absent) continue;
    if (row.verdict != Verdict::ok) return 1;
    any = true;
  }
  return any ? 0 : 3;
}

int bench_command(Options options) {
  if (options.quick) options.samples = std::min(options.samples, 3);
  if (options.json == "-" && options.svg == "-") {
    throw UsageError("standard output (-) holds one report only");
  }
  for (const std::string& path : {options.json, options.svg}) {
    if (!path.empty()) require_writable(path);
  }
  if (options.file.empty()) options.file = (data_folder() / "shapes.json").string();
  // What starts later, workers and peers, takes these over.
  const std::string threads = std::to_string(options.threads);
  ::setenv("OPENBLAS_NUM_THREADS", threads.c_str(), 1);
  ::setenv("OMP_NUM_THREADS", threads.c_str(), 1);
  // Large blocks come from the heap and stay there: page faults are no part of anybody's time.
  ::setenv("MALLOC_MMAP_MAX_", "0", 1);
  ::setenv("MALLOC_TRIM_THRESHOLD_", "1099511627776", 1);

  Workloads workloads;
  try {
    const std::vector<Entry> entries = read_entries(options.file);
    check_names(entries, options);
    workloads = bind_all(entries, options);
  } catch (const BadShapes& error) {
    throw UsageError(error.what());
  }
  const bool colour = wants_colour(options.no_color);
  if (options.list) {
    std::erase_if(workloads, [&](const auto& each) { return !is_selected(*each, options); });
    print(list_of(workloads, colour));
    return workloads.empty() ? 3 : 0;
  }
  if ((options.compare || options.compile) && options.pythons.empty()) {
    throw UsageError("--compare and --compile go with --pytorch PYTHON");
  }
  Field field(options);
  BenchReport report = Bench(options, std::move(workloads), field).run();
  if (options.compare) report.compare = time_comparing(*field.first_peer(), options);
  if (!options.json.empty()) write_text(options.json, to_json(report));
  if (!options.svg.empty()) write_text(options.svg, to_svg(report));
  if (options.json != "-" && options.svg != "-") print(told(report, colour));
  const int code = exit_code_of(report);
  if (code == 3 && options.json != "-") print("nothing was timed\n");
  return code;
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "bench", "Time solutions at the shapes of real models; compare with the machine's limits");
  add_repeatable(command, "--solution", options->solutions,
                 "A shipped solution or a library (default: reference, and those for a device)")
      ->type_name("NAME|PATH");
  add_repeatable(command, "--problem", options->selection.problems, "Only these problems (globs)")
      ->type_name("NAME");
  add_repeatable(command, "--shape", options->shapes, "Only these shapes (globs)")
      ->type_name("NAME");
  add_repeatable(command, "--dtype", options->selection.dtypes, "Only these dtypes")
      ->type_name("DTYPE");
  command
      .add_option("--set", options->set,
                  "Shapes for the CPU or for a device (default: where each solution runs)")
      ->check(CLI::IsMember({"cpu", "device"}))
      ->type_name("cpu|device");
  command.add_flag("--list", options->list, "List the shapes and time nothing");
  command
      .add_option("--samples", options->samples, "Timed calls per shape and solution (default: 11)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command.add_flag("--quick", options->quick, "At most 3 samples");
  command
      .add_option("--threads", options->threads,
                  "Threads of each solution and peer (default: all cores)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  add_repeatable(command, "--pytorch", options->pythons,
                 "A Python with PyTorch: a peer, timed in turn with the solutions")
      ->type_name("PYTHON");
  command.add_flag("--compile", options->compile, "With --pytorch: also time torch.compile");
  add_repeatable(command, "--peer", options->peers, "Timings that a peer has measured by itself")
      ->type_name("FILE.json");
  command.add_flag("--compare", options->compare,
                   "With --pytorch: also time comparing outputs, here and in NumPy");
  command.add_option("--shapes", options->file, "Read the shapes from this file")
      ->type_name("FILE");
  add_repeatable(command, "--fixtures", options->selection.fixtures,
                 "Fixture files with the signatures (default: the shipped ones)")
      ->type_name("PATH");
  command.add_option("--seed", options->seed, "Seed of the random values (default: 0)")
      ->check(whole_number())
      ->type_name("N");
  command.add_option("--timeout", options->timeout, "Limit for one call (default: 600)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command.add_option("--json", options->json, "Write a JSON report (-: to standard output)")
      ->type_name("FILE");
  command.add_option("--svg", options->svg, "Draw a roofline plot")->type_name("FILE");
  command.add_flag("--no-color", options->no_color, "Disable colours, like NO_COLOR=1");
  command.footer(
      "Every timed call gets fresh random values, and its outputs are checked against the "
      "reference "
      "in\nfloat64: a wrong answer is WRONG and has no time. A time that the machine cannot reach "
      "is\nIMPOSSIBLE: an error of the measurement. Ceilings are measured in the same run.\n\n"
      "Examples:\n"
      "  prenorm bench                                       the reference on this CPU\n"
      "  prenorm bench --pytorch /usr/bin/python3            beside PyTorch, in turn\n"
      "  prenorm bench --solution ./libmine.so --problem 'ffn_*' --svg roofline.svg\n\n"
      "Exit code: 0 all were timed, 1 a wrong answer, a failure or an impossible time, 2 a file "
      "or\n"
      "word that cannot be used, 3 nothing was timed");
  command.callback([options, &chosen] { chosen = [options] { return bench_command(*options); }; });
}

}  // namespace prenorm::harness
