#include "base/error.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "fixture/selection.hpp"
#include "replay/catches.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"
#include "report/json.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

struct MistakesOptions {
  std::vector<std::string> problems;  // beside those of --problem
  Selection selection;
  std::string solution = "mistakes", json;
  bool expect_pass = false, verbose = false, no_color = false;
  unsigned jobs = processors();
};

/// A mistake must fail somewhere; what is expected to pass must fail nowhere.
bool is_as_wanted(const Variant& variant, bool expect_pass) {
  return variant.caught().empty() == expect_pass;
}

Cell dtype_cell(const Variant& variant, const std::string& dtype, bool expect_pass) {
  const auto cases = variant.dtypes.find(dtype);
  if (cases == variant.dtypes.end()) return {"-", Tone::quiet};
  const std::size_t caught = cases->second.caught.size();
  const Tone tone = (caught == 0) == expect_pass ? Tone::good : Tone::bad;
  return {fmt::format("{}/{}", caught, cases->second.tried.size()), tone};
}

std::string some_names(const std::vector<std::string>& names, bool all) {
  if (all) return joined(names);
  if (names.size() <= 1) return joined(names);
  return names.front() + fmt::format(" and {} more", names.size() - 1);
}

Table table_of(const std::vector<Variant>& variants, const MistakesOptions& options) {
  static const std::vector<std::string> dtypes{"float64", "float32", "float16", "bfloat16"};
  Table table;
  table.head = {options.expect_pass ? "variant" : "mistake"};
  table.head.insert(table.head.end(), dtypes.begin(), dtypes.end());
  table.head.emplace_back(options.expect_pass ? "fails" : "caught by");
  std::string problem;
  for (const Variant& variant : variants) {
    if (variant.problem != problem) {
      problem = variant.problem;
      table.rows.push_back({{problem, Tone::strong}});
    }
    const bool wanted = is_as_wanted(variant, options.expect_pass);
    std::vector<Cell> row{{"  " + variant.name, wanted ? Tone::plain : Tone::bad}};
    for (const std::string& dtype : dtypes) {
      row.push_back(dtype_cell(variant, dtype, options.expect_pass));
    }
    std::string names = some_names(variant.caught(), options.verbose);
    if (names.empty()) names = options.expect_pass ? "nothing" : "no case";
    row.push_back({names, wanted ? Tone::quiet : Tone::bad});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string conclusion(const std::vector<Variant>& variants, const MistakesOptions& options) {
  const auto good = std::ranges::count_if(
      variants, [&](const Variant& variant) { return is_as_wanted(variant, options.expect_pass); });
  if (options.expect_pass) {
    return fmt::format("{} of {} pass every case\n", good, counted(variants.size(), "variant"));
  }
  return fmt::format("{} of {} caught (mutation score {:.1f} %)\n", good,
                     counted(variants.size(), "mistake"),
                     100.0 * static_cast<double>(good) / static_cast<double>(variants.size()));
}

/// The common report, with a list of the variants beside the results.
std::string json_of(const Report& report, const std::vector<Variant>& variants) {
  Json object = parse_json(to_json(report));
  auto& list = object["variants"] = Json::array();
  for (const Variant& variant : variants) {
    Json dtypes = Json::object();
    for (const auto& [dtype, cases] : variant.dtypes) {
      dtypes[dtype] = {{"tried", cases.tried}, {"caught", cases.caught}};
    }
    list.push_back({{"problem", variant.problem}, {"name", variant.name}, {"dtypes", dtypes}});
  }
  return to_text(object);
}

struct FoundVariants {
  std::vector<Variant> variants;
  std::vector<Result> unusable;
};

FoundVariants find(const std::vector<File>& files, const MistakesOptions& options) {
  std::vector<SolutionPool> pools = make_pools(options.jobs);
  for (SolutionPool& pool : pools) pool.get(options.solution);  // a wrong name is told at once
  Solution& first = pools.front().get(options.solution);
  if (!first.load()) throw UsageError(options.solution + ": " + first.message());
  std::vector<FoundVariants> parts(files.size());
  Progress progress;
  std::atomic<std::size_t> done = 0;
  in_parallel(files.size(), options.jobs, [&](std::size_t i, std::size_t thread) {
    progress.show(fmt::format("[{}/{}] {}", ++done, files.size(), files[i].path));
    if (files[i].fixture) {
      parts[i].variants = catches(files[i], options.solution, pools[thread], parts[i].unusable);
    } else {
      parts[i].unusable = replay_file(files[i], {}, pools[thread], {});
    }
  });
  FoundVariants all;
  for (FoundVariants& part : parts) {
    std::ranges::move(part.variants, std::back_inserter(all.variants));
    std::ranges::move(part.unusable, std::back_inserter(all.unusable));
  }
  return all;
}

int mistakes(MistakesOptions options) {
  const auto start = std::chrono::steady_clock::now();
  if (!options.json.empty()) require_writable(options.json);
  std::ranges::move(options.problems, std::back_inserter(options.selection.problems));
  const std::vector<File> files = open_files(options.selection, options.jobs);
  const FoundVariants found = find(files, options);
  Report report;
  report.command = "mistakes";
  for (const Variant& variant : found.variants) {
    report.results.insert(report.results.end(), variant.results.begin(), variant.results.end());
  }
  report.results.insert(report.results.end(), found.unusable.begin(), found.unusable.end());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.seconds = seconds.count();

  if (!options.json.empty()) write_text(options.json, json_of(report, found.variants));
  if (options.json != "-") {
    const bool colour = wants_colour(options.no_color);
    Report unusable = report;
    unusable.results = found.unusable;
    print(failures(unusable, colour));
    if (found.variants.empty()) {
      print(options.solution + " has no variant for these problems\n");
    } else {
      print(render(table_of(found.variants, options), colour) + "\n");
      print(conclusion(found.variants, options));
    }
  }
  if (!found.unusable.empty()) return 2;
  if (found.variants.empty()) return 3;
  const bool good = std::ranges::all_of(found.variants, [&](const Variant& variant) {
    return is_as_wanted(variant, options.expect_pass);
  });
  return good ? 0 : 1;
}

}  // namespace

void add_mistakes(Arguments& app, Action& chosen) {
  auto options = std::make_shared<MistakesOptions>();
  Arguments& command =
      *app.add_subcommand("mistakes", "Show the known mistakes and which cases catch them");
  command.add_option("PROBLEM", options->problems, "Only these problems (globs)");
  add_selection_options(command, options->selection);
  command.add_option("--solution", options->solution, "Solution whose variants are tried")
      ->capture_default_str()
      ->type_name("NAME|PATH");
  command.add_flag("--expect-pass", options->expect_pass,
                   "The variants are correct and must pass every case");
  command.add_option("--json", options->json, "Write a JSON report (-: to standard output)")
      ->type_name("FILE");
  command.add_flag("--verbose", options->verbose, "Name each case");
  command.add_flag("--no-color", options->no_color, "Disable colours");
  add_jobs_option(command, options->jobs);
  command.footer(
      "3/10: 3 of 10 cases catch the mistake. -: the mistake is not written for that dtype.\n"
      "Cases that must be refused are not tried.\n\n"
      "Examples:\n"
      "  prenorm mistakes PROBLEM\n"
      "  prenorm mistakes --solution honest --expect-pass\n\n"
      "Exit code: 0, or 1 if no case catches a mistake, or a variant that must pass fails");
  command.callback([options, &chosen] { chosen = [options] { return mistakes(*options); }; });
}

}  // namespace prenorm::harness
