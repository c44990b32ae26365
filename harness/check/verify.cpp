#include "check/command.hpp"

#include "base/files.hpp"
#include "base/paths.hpp"
#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "emulate/emulate.hpp"
#include "explain/failures_report.hpp"
#include "fixture/describe.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness {
namespace {

struct VerifyOptions {
  Selection selection;
  std::vector<std::string> solutions;
  std::string save, record, json, json_lines, junit, html;
  bool only_failing = false, verbose = false, no_color = false, in_process = false;
  std::optional<std::uint64_t> seed;
  std::uint64_t emulator_limit = most_elements_emulated;
  unsigned jobs = processors();
  double timeout = RunLimits{}.seconds;

  Solution::Options solution() const {
    Solution::Options options;
    options.in_process = in_process;
    options.limits.seconds = timeout;
    return options;
  }

  /// What the command that repeats a case needs besides file, case and solution.
  std::vector<std::string> repeat() const {
    std::vector<std::string> words;
    if (seed) words.insert(words.end(), {"--seed", std::to_string(*seed)});
    if (timeout != RunLimits{}.seconds) {
      words.insert(words.end(), {"--timeout", fmt::format("{}", timeout)});
    }
    if (emulator_limit != most_elements_emulated) {
      words.insert(words.end(), {"--emulator-limit", std::to_string(emulator_limit)});
    }
    if (in_process) words.emplace_back("--in-process");
    return words;
  }

  /// The paths of the requested reports.
  std::vector<std::string> reports() const { return {json, junit, html}; }
};

std::vector<Entrant> choose_entrants(const VerifyOptions& options, const fs::path& folder,
                                     std::vector<SolutionPool>& pools) {
  if (options.solutions.empty()) return default_entrants(pools, options.jobs);
  std::vector<Column> columns;
  std::set<std::string> seen;
  for (const std::string& name : options.solutions) {
    if (!seen.insert(name).second) continue;
    const bool source = is_cuda_source(name);
    const std::string solution = source ? compile_cuda_solution(name, folder).string() : name;
    pools.front().get(solution);  // reports an unknown name before any work
    columns.push_back({name, solution, ""});
    if (source) columns.back().emulator_limit = options.emulator_limit;
  }
  return load_columns(columns, pools, options.jobs);
}

/// Adds the records of solutions whose device is missing, and of their variants.
void ask_records(const std::vector<Entrant>& entrants, bool of_variants, Report& report) {
  const Records records = read_records(records_folder());
  const auto ask = [&](const Entrant& entrant, const std::string& name) {
    NotHere known{.reason = *entrant.column.skipped, .record = {}};
    if (const Record* record = records.of(name, entrant.sources)) {
      known.record = *record;
      known.changed = record->sources != entrant.sources;
    }
    return known;
  };
  for (const Entrant& entrant : entrants) {
    if (!entrant.on_device || !entrant.column.skipped) continue;
    const std::string& name = entrant.column.solution;
    report.not_here[entrant.column.label] = ask(entrant, name);
    if (!of_variants) continue;
    for (const std::string& variant : entrant.variants) {
      report.variants[name + "/" + variant] = ask(entrant, name + "/" + variant);
    }
  }
}

/// Writes a record for each solution that ran on a device; returns one line for each.
std::string write_records(const std::string& folder, const std::vector<Entrant>& entrants,
                          const std::vector<Result>& results) {
  std::string text;
  for (const Entrant& entrant : entrants) {
    if (!entrant.runs_on_device() || !entrant.device) continue;
    const Record record =
        make_record(entrant.column.label, *entrant.device, entrant.sources, results);
    const fs::path written =
        as_usage<std::runtime_error>([&] { return write_record(folder, record); });
    text += "recorded in " + written.string() + "\n";
  }
  return text.empty() ? "nothing recorded: no solution ran on a device\n" : text;
}

/// The results of all files, and why what failed has failed.
std::vector<Result> run_all(const VerifyOptions& options, const std::vector<SelectedFixture>& files,
                            const std::vector<Entrant>& entrants, std::vector<SolutionPool>& pools,
                            LineFile& lines, std::vector<Explanation>& explanations) {
  std::vector<Saver> savers;  // one per file if outputs are saved, else empty
  const std::vector<std::string> stems = stems_of(files);
  for (std::size_t i = 0; i < files.size() && !options.save.empty(); ++i) {
    savers.emplace_back(files[i], stems[i], options.save, options.only_failing);
  }
  Collectors failed(files, options.seed.has_value());
  RunOptions run;
  run.repeat = options.repeat();
  if (options.seed) run.fresh = FreshOptions{.seed = *options.seed};
  run.keep_outputs = [&](const SelectedFixture& file, const LoadedCase& loaded,
                         const Result& result, std::vector<Tensor> outputs, Solution& ran) {
    const auto number = static_cast<std::size_t>(&file - files.data());
    if (!savers.empty()) savers[number].keep(loaded.info, result, outputs);
    failed.add(number, loaded, result, std::move(outputs), ran);
  };
  run.file_is_done = [&](const std::vector<Result>& results) {
    for (const Result& result : results) {
      if (lines.is_open()) lines.write(to_line(Json(result)));
    }
  };
  std::vector<Result> all = replay_all(files, entrants, pools, run, options.jobs);
  for (const Saver& saver : savers) saver.write();
  Progress progress;
  progress.show("looking for the reasons of failures");
  explanations = failed.explain(pools, !options.html.empty());
  return all;
}

std::string summary_of(const Report& report, const std::vector<Explanation>& explanations,
                       const VerifyOptions& options) {
  const bool colour = wants_colour(options.no_color);
  std::string text;
  if (options.verbose) text += every_case(report, colour) + "\n";
  text += render(overview(report), colour, terminal_width()) + "\n";
  const std::string list =
      explained_failures(report, explanations, colour, terminal_width(), options.verbose);
  if (!list.empty()) text += list + "\n";
  const std::size_t width = terminal_width() == 0 ? std::string::npos : terminal_width();
  const std::vector<std::string> left_out = lines_of(omissions(report));
  for (const std::string& line : left_out) text += wrapped(line, 2, width) + "\n";
  if (!left_out.empty()) text += "\n";
  text += summary_line(report, colour) + "\n" + repeat_line(report, explanations);
  if (exit_code(report.results) == 3) {
    // All results alike, as for a name that no library has: say why.
    text +=
        "nothing ran: " +
        (report.results.empty() ? "no case is selected" : printable(report.results[0].message)) +
        "\n";
  }
  return text;
}

int verify(VerifyOptions options) {
  require_reports(options.reports());
  require_lines("--json-lines", options.json_lines);
  if (options.in_process) options.jobs = 1;  // one address space, and a debugger in it
  if (!options.record.empty() && options.seed) {
    throw UsageError("--record needs the stored cases, so it cannot be used with --seed");
  }
  if (options.save.empty() && options.only_failing) {
    throw UsageError("--only-failing needs --save DIR");
  }
  if (!options.record.empty()) make_folder(options.record);
  if (!options.save.empty()) make_folder(options.save);
  if (options.solutions.empty()) keep_freed_memory();  // others run as they do elsewhere
  const auto start = std::chrono::steady_clock::now();
  const TemporaryFolder built;
  std::vector<SolutionPool> pools = make_pools(options.jobs, options.solution());
  Report report;
  const std::vector<Entrant> entrants = choose_entrants(options, built.path(), pools);
  for (const Entrant& entrant : entrants) report.solutions.push_back(entrant.column.label);
  ask_records(entrants, options.solutions.empty(), report);
  const std::vector<SelectedFixture> files = open_files(options.selection, options.jobs);
  LineFile lines(options.json_lines);
  std::vector<Explanation> explanations;
  report.results = run_all(options, files, entrants, pools, lines, explanations);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.command = "verify";
  report.seconds = seconds.count();

  std::string recorded;
  if (!options.record.empty()) recorded = write_records(options.record, entrants, report.results);
  const std::vector<std::string> reports = options.reports();
  const bool taken = std::ranges::find(reports, "-") != reports.end();
  // Standard output holds one thing. Before the files, one of which may be impossible to write.
  if (!taken) print(summary_of(report, explanations, options) + recorded);
  if (!options.junit.empty()) write_text(options.junit, to_junit(report));
  if (!options.html.empty()) write_text(options.html, explained_html(report, explanations));
  if (!options.json.empty()) write_text(options.json, to_json(report));
  lines.require_all();
  return exit_code(report.results);
}

}  // namespace

Command verify_command() {
  const auto options = std::make_shared<VerifyOptions>();
  VerifyOptions& o = *options;
  return {
      .name = "verify",
      .description = "Run the cases of fixtures through solutions and compare the outputs",
      .options = {selection_options(o.selection),
                  {"--solution NAME|PATH", o.solutions,
                   "A shipped solution, a library, or a CUDA source for the emulator (default: "
                   "all\n"
                   "shipped solutions)"},
                  {"--seed N", o.seed,
                   "Draw fresh inputs, with expected values from the reference\n"
                   "(those of the column reference from fast)",
                   whole_number},
                  {"--save DIR", o.save, "Save the outputs, one file per fixture and solution"},
                  {"--only-failing", o.only_failing, "With --save: only failing cases"},
                  {"--record DIR", o.record,
                   "Record results on a device in DIR/<device>/<solution>.json"},
                  json_option(o.json),
                  {"--json-lines FILE", o.json_lines,
                   "Write each result as a line of JSON as soon as its file is done"},
                  {"--junit FILE", o.junit, "Write a JUnit XML report"},
                  {"--html FILE", o.html, "Write an HTML report"},
                  jobs_option(o.jobs),
                  {"--timeout SECONDS", o.timeout, "Limit for one call (default: 60)", positive},
                  {"--emulator-limit N", o.emulator_limit,
                   fmt::format("Elements of the largest case for a CUDA source (default: {})",
                               most_elements_emulated),
                   whole_number},
                  {"--in-process", o.in_process,
                   "Load the solution into this process, for a debugger"},
                  {"--verbose", o.verbose, "Print one line per case"},
                  no_color_option(o.no_color)},
      .footer =
          R"(A solution is a shipped one (NAME or NAME/VARIANT) or the path of a library. Known mistakes
combine: mistakes/no_eps+no_gain has both. Emulated solutions run only the small cases
unless they are named. If a solution's device is missing, the table shows its device
record, if there is one. A CUDA source (.cu) is compiled for the emulator, which reports what
kernels do wrong.

Examples:
  prenorm verify                                      all problems, all solutions
  prenorm verify --problem 'ffn_*' --dtype bfloat16   some cases
  prenorm verify --solution ./libmine.so --html report.html
  prenorm verify --solution ./mine.cu --problem PROBLEM      CUDA, without a device

Exit code: 0 all that ran passed, 1 something failed, 2 an invalid option or file,
3 nothing ran)",
      .run = [options] { return verify(*options); }};
}

}  // namespace prenorm::harness
