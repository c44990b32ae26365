#include "cli/command.hpp"
#include "cli/parallel.hpp"
#include "cli/runner.hpp"
#include "cli/terminal.hpp"
#include "printable.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct Options {
  Selection selection;
  std::vector<std::string> solutions;
  std::string save, json, junit, html;
  bool only_failing = false, verbose = false, no_color = false, in_process = false;
  std::optional<std::uint64_t> seed;
  unsigned jobs = processors();
  double timeout = RunLimits{}.seconds;

  Solution::Options solution() const {
    Solution::Options options;
    options.in_process = in_process;
    options.limits.seconds = timeout;
    return options;
  }

  /// What a line that repeats a case must say beside file, case and solution.
  std::vector<std::string> repeat() const {
    std::vector<std::string> words;
    if (seed) words.insert(words.end(), {"--seed", std::to_string(*seed)});
    if (timeout != RunLimits{}.seconds) {
      words.insert(words.end(), {"--timeout", fmt::format("{}", timeout)});
    }
    if (in_process) words.emplace_back("--in-process");
    return words;
  }

  /// The reports that are asked for: where they go.
  std::vector<std::string> reports() const {
    std::vector<std::string> paths{json, junit, html};
    std::erase(paths, "");
    return paths;
  }
};

/// Pools of solutions, one a thread.
using Pools = std::vector<SolutionPool>;

bool is_emulated(const std::string& solution) { return solution.ends_with("-emulated"); }

/// `reference` first, then the other shipped solutions that can run here; no collections.
std::vector<Contestant> default_contestants(Pools& pools, unsigned jobs) {
  std::vector<std::string> names = shipped_solutions();
  std::ranges::stable_partition(names, [](const auto& name) { return name == "reference"; });
  std::vector<char> usable(names.size());
  in_parallel(names.size(), jobs, [&](std::size_t i, std::size_t thread) {
    Solution& solution = pools[thread].get(names[i]);
    // One that cannot be loaded is shown: something is broken. One without its device is not.
    const bool runs = solution.load() || solution.status() == Status::load_error;
    usable[i] = runs && !is_collection(solution);
  });
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (usable[i]) contestants.push_back({names[i], names[i], "", is_emulated(names[i])});
  }
  if (contestants.empty()) throw UsageError("no solution can run here; --solution PATH names one");
  return contestants;
}

std::vector<Contestant> choose_contestants(const Options& options, Pools& pools) {
  if (options.solutions.empty()) return default_contestants(pools, options.jobs);
  std::vector<Contestant> contestants;
  std::set<std::string> seen;
  for (const std::string& name : options.solutions) {
    pools.front().get(name);  // a name that means nothing is told before any work
    if (seen.insert(name).second) contestants.push_back({name, name, "", false});
  }
  return contestants;
}

/// "./mine.so" becomes "mine", "mistakes/no_eps" "mistakes-no_eps": part of a file's name.
std::string file_word(const std::string& solution) {
  std::string word =
      fs::path(solution).extension() == ".so" ? fs::path(solution).stem().string() : solution;
  for (char& c : word) {
    if (c == '/') c = '-';
  }
  while (word.starts_with('.') || word.starts_with('-')) word.erase(0, 1);
  return word;
}

/// The word, or the word with a number behind it that makes it another than those used before.
std::string unused(const std::string& word, std::set<std::string>& used) {
  std::string name = word;
  for (int number = 2; !used.insert(name).second; ++number) {
    name = word + "-" + std::to_string(number);
  }
  return name;
}

/// The names of the files without folder and ending, told apart where they are alike.
std::vector<std::string> stems_of(const std::vector<File>& files) {
  std::set<std::string> used;
  std::vector<std::string> stems;
  for (const File& file : files) stems.push_back(unused(fs::path(file.path).stem(), used));
  return stems;
}

/// Collects what solutions return for one fixture file, and writes a file for each solution:
/// <stem>.<solution>.h5.
class Saver {
 public:
  Saver(const File& file, std::string stem, const Options& options)
      : file_(file), stem_(std::move(stem)), options_(options) {}

  void keep(const Case& info, const Result& result, std::vector<Tensor> outputs) {
    if (options_.only_failing && result.status == Status::passed) return;
    OutputsFile& saved = saved_[result.solution];
    saved.problem = result.problem;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      saved.entries.push_back(
          {info.name, file_.fixture->signature().outputs[i].name, std::move(outputs[i])});
    }
  }

  void write() const {
    std::set<std::string> used;
    for (const auto& [solution, outputs] : saved_) {
      const std::string word = unused(file_word(solution), used);
      const fs::path path = fs::path(options_.save) / (stem_ + "." + word + ".h5");
      try {
        write_outputs(path, outputs);
      } catch (const std::exception& error) {
        throw UsageError("cannot save " + path.string() + ": " + error.what());
      }
    }
  }

 private:
  const File& file_;
  std::string stem_;
  const Options& options_;
  std::map<std::string, OutputsFile> saved_;
};

/// Indices of the files, the largest first, so that no thread ends with a large one alone.
std::vector<std::size_t> largest_first(const std::vector<File>& files) {
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> work(files.size(), 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Case* info : files[i].cases) work[i] += info->elements() + 1000;
  }
  std::ranges::stable_sort(order, [&](auto a, auto b) { return work[a] > work[b]; });
  return order;
}

std::vector<Result> run(const Options& options, const std::vector<File>& files,
                        const std::vector<Contestant>& contestants, Pools& pools) {
  Progress progress;
  std::atomic<std::size_t> done = 0;
  std::vector<std::vector<Result>> results(files.size());
  const std::vector<std::size_t> order = largest_first(files);
  const std::vector<std::string> stems = stems_of(files);
  in_parallel(files.size(), options.jobs, [&](std::size_t turn, std::size_t thread) {
    const File& file = files[order[turn]];
    progress.show(fmt::format("[{}/{}] {}", done.load(), files.size(), file.path));
    RunOptions run;
    run.repeat = options.repeat();
    if (options.seed) run.fresh = FreshOptions{.seed = *options.seed};
    Saver saver(file, stems[order[turn]], options);
    if (!options.save.empty()) {
      run.keep_outputs = [&saver](const Case& info, const Result& result,
                                  std::vector<Tensor> outputs) {
        saver.keep(info, result, std::move(outputs));
      };
    }
    results[order[turn]] = replay_file(file, contestants, pools[thread], run);
    saver.write();
    ++done;
  });
  std::vector<Result> all;
  for (auto& each : results) std::ranges::move(each, std::back_inserter(all));
  return all;
}

std::string told(const Report& report, const Options& options) {
  const bool colour = wants_colour(options.no_color);
  std::string text;
  if (options.verbose) text += every_case(report, colour) + "\n";
  text += render(overview(report), colour) + "\n";
  if (const std::string list = failures(report, colour); !list.empty()) text += list + "\n";
  if (const std::string list = omissions(report); !list.empty()) text += list + "\n";
  text += summary_line(report, colour) + "\n";
  if (exit_code(report.results) == 3) {
    // All results alike, as for a name that no library has: say why.
    text +=
        "nothing ran: " +
        (report.results.empty() ? "no case is selected" : printable(report.results[0].message)) +
        "\n";
  }
  return text;
}

/// Reports that could not be written are told before the work, not after it.
void check_reports(const Options& options) {
  const std::vector<std::string> paths = options.reports();
  if (std::ranges::count(paths, "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
  for (const std::string& path : paths) require_writable(path);
}

int verify(Options options) {
  check_reports(options);
  if (options.in_process) options.jobs = 1;  // one address space, and a debugger in it
  if (!options.save.empty()) {
    std::error_code error;
    fs::create_directories(options.save, error);
    if (error) throw UsageError("cannot make folder " + options.save + ": " + error.message());
  } else if (options.only_failing) {
    throw UsageError("--only-failing goes with --save DIR");
  }
  const auto start = std::chrono::steady_clock::now();
  Pools pools = make_pools(options.jobs, options.solution());
  Report report;
  const std::vector<Contestant> contestants = choose_contestants(options, pools);
  for (const Contestant& contestant : contestants) report.solutions.push_back(contestant.label);
  const std::vector<File> files = open_files(options.selection, options.jobs);
  report.results = run(options, files, contestants, pools);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.command = "verify";
  report.seconds = seconds.count();

  if (!options.junit.empty()) write_text(options.junit, to_junit(report));
  if (!options.html.empty()) write_text(options.html, to_html(report));
  if (!options.json.empty()) write_text(options.json, to_json(report));
  const std::vector<std::string> reports = options.reports();
  const bool taken = std::ranges::find(reports, "-") != reports.end();
  if (!taken) print(told(report, options));  // standard output holds one thing
  return exit_code(report.results);
}

}  // namespace

void add_verify(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("verify", "Replay fixtures through solutions and compare");
  add_selection_options(command, options->selection);
  add_repeatable(command, "--solution", options->solutions,
                 "A shipped one or a library (default: all that can run here)")
      ->type_name("NAME|PATH");
  command
      .add_option("--seed", options->seed, "Fresh values: truth from the reference, own tolerances")
      ->check(whole_number())
      ->type_name("N");
  command.add_option("--save", options->save, "Write what solutions return, a file each")
      ->type_name("DIR");
  command.add_flag("--only-failing", options->only_failing, "With --save: only what fails");
  command.add_option("--json", options->json, "Write a report (-: to standard output)")
      ->type_name("FILE");
  command.add_option("--junit", options->junit, "The same in JUnit's XML")->type_name("FILE");
  command.add_option("--html", options->html, "The same as a page")->type_name("FILE");
  add_jobs_option(command, options->jobs);
  command.add_option("--timeout", options->timeout, "For one call (default: 60)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command.add_flag("--in-process", options->in_process, "No worker process, for a debugger");
  command.add_flag("--verbose", options->verbose, "A line for every case");
  command.add_flag("--no-color", options->no_color, "No colour, as with NO_COLOR set");
  command.footer(
      "A solution is the name of a shipped one, NAME/VARIANT, or the path of a library. Emulated\n"
      "ones get the small cases, unless named.\n\n"
      "Examples:\n"
      "  prenorm verify                                      everything, side by side\n"
      "  prenorm verify --problem 'ffn_*' --dtype bfloat16   some of it\n"
      "  prenorm verify --solution ./libmine.so --html report.html\n\n"
      "Exit code: 0 all that ran passed, 1 something failed, 2 a file or word that cannot be "
      "used,\n"
      "3 nothing ran");
  command.callback([options, &chosen] { chosen = [options] { return verify(*options); }; });
}

}  // namespace prenorm::harness
