#include "check/command.hpp"

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "explain/causes.hpp"
#include "fixture/describe.hpp"
#include "fixture/selection.hpp"
#include "replay/runner.hpp"
#include "report/report.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <utility>

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

const std::vector<std::string> dtypes{"float64", "float32", "float16", "bfloat16"};

/// "far_below and 9 more", or all of them.
std::string some_names(const std::vector<std::string>& names, bool all) {
  if (all || names.size() <= 1) return joined(names);
  return names.front() + fmt::format(" and {} more", names.size() - 1);
}

/// One line per mistake: how many cases catch it, and its name in words.
Table overview(const std::vector<Variant>& variants, std::size_t width) {
  constexpr std::size_t gap = 2;
  const auto count = [](const Variant& variant) {
    if (variant.tried() == 0) return std::string("-");
    return fmt::format("{}/{}", variant.caught().size(), variant.tried());
  };
  Table table;
  table.head = {"mistake", "caught", "looks like"};
  std::size_t taken = table.head[0].size(), counts = table.head[1].size();
  for (const Variant& variant : variants) {
    taken = std::max({taken, gap + variant.name.size(), variant.problem.size()});
    counts = std::max(counts, count(variant).size());
  }
  taken += gap + counts + gap;
  std::string problem;
  for (const Variant& variant : variants) {
    if (variant.problem != problem) {
      problem = variant.problem;
      table.rows.push_back({{problem, Tone::strong}});
    }
    const bool wanted = is_as_wanted(variant, false);
    std::vector<Cell> row{{"  " + variant.name, wanted ? Tone::plain : Tone::bad},
                          {count(variant), wanted ? Tone::good : Tone::bad}};
    const std::size_t room = width > taken ? width - taken : 1;
    for (const std::string& line :
         lines_of(wrapped(words_of(variant.problem, variant.name).name, 0, room))) {
      row.push_back({line});
      table.rows.push_back(std::exchange(row, {{""}, {""}}));
    }
    for (const auto& [dtype, cases] : variant.dtypes) {
      if (cases.caught.empty())
        table.rows.push_back({{""}, {""}, {"no case in " + dtype, Tone::bad}});
    }
  }
  return table;
}

/// What stands below a variant's row: its words, and the cases that it fails.
std::string paragraph(const Variant& variant, const MistakesOptions& options, std::size_t width,
                      bool colour) {
  constexpr std::size_t indent = 4;
  std::string text;
  const auto line = [&](const std::string& words, Tone tone) {
    for (const std::string& each : lines_of(wrapped(words, 0, width - indent))) {
      text += std::string(indent, ' ') + toned(each, tone, colour) + "\n";
    }
  };
  // A known mistake has words, a variant that must pass has none.
  const MistakeWords words =
      options.expect_pass ? MistakeWords{} : words_of(variant.problem, variant.name);
  line(words.name, Tone::strong);
  line(words.sentence, Tone::plain);
  if (!words.right.empty()) line("right: " + words.right, Tone::plain);
  if (!words.wrong.empty()) line("wrong: " + words.wrong, Tone::plain);
  if (options.verbose) line(words.hint, Tone::plain);
  const std::vector<std::string> caught = variant.caught();
  const std::string names = some_names(caught, options.verbose);
  const bool wanted = is_as_wanted(variant, options.expect_pass);
  if (caught.empty()) {
    if (!wanted) line(variant.tried() == 0 ? "no case to try" : "no case catches it", Tone::bad);
  } else {
    line((options.expect_pass ? "fails " : "caught by ") + names, wanted ? Tone::quiet : Tone::bad);
  }
  return text;
}

/// A row of counts for each variant, with a paragraph below it.
std::string details(const std::vector<Variant>& variants, const MistakesOptions& options,
                    std::size_t width, bool colour) {
  Table table;
  table.head = {options.expect_pass ? "variant" : "mistake"};
  table.head.insert(table.head.end(), dtypes.begin(), dtypes.end());
  std::vector<std::string> below;  // each row
  std::string problem;
  for (const Variant& variant : variants) {
    if (variant.problem != problem) {
      problem = variant.problem;
      table.rows.push_back({{problem, Tone::strong}});
      below.emplace_back();
    }
    const bool wanted = is_as_wanted(variant, options.expect_pass);
    std::vector<Cell> row{{"  " + variant.name, wanted ? Tone::plain : Tone::bad}};
    for (const std::string& dtype : dtypes) {
      row.push_back(dtype_cell(variant, dtype, options.expect_pass));
    }
    table.rows.push_back(std::move(row));
    below.push_back(paragraph(variant, options, width, colour));
  }
  const std::vector<std::string> lines = lines_of(render(table, colour));
  const std::size_t head = lines.size() - below.size();
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i] + "\n" + (i < head ? "" : below[i - head]);
  }
  return text;
}

std::string listing(const std::vector<Variant>& variants, const MistakesOptions& options,
                    bool colour) {
  constexpr std::size_t widest = 100, narrowest = 60;
  const std::size_t columns = terminal_width();
  const std::size_t width = columns == 0 ? widest : std::clamp(columns, narrowest, widest);
  const bool one_problem = variants.front().problem == variants.back().problem;
  if (one_problem || options.verbose || options.expect_pass) {
    return details(variants, options, width, colour);
  }
  return render(overview(variants, width), colour);
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
std::string json_of(const Report& report, const std::vector<Variant>& variants,
                    const MistakesOptions& options) {
  Json object = parse_json(to_json(report));
  auto& list = object["variants"] = Json::array();
  for (const Variant& variant : variants) {
    Json dtypes = Json::object();
    for (const auto& [dtype, cases] : variant.dtypes) {
      dtypes[dtype] = {{"tried", cases.tried}, {"caught", cases.caught}};
    }
    Json entry{{"problem", variant.problem}, {"variant", variant.name}, {"dtypes", dtypes}};
    if (!options.expect_pass) {
      const MistakeWords& words = words_of(variant.problem, variant.name);
      entry["name"] = words.name;
      entry["sentence"] = words.sentence;
      entry["right"] = words.right;
      entry["wrong"] = words.wrong;
      entry["hint"] = words.hint;
    }
    list.push_back(std::move(entry));
  }
  return to_text(object);
}

struct FoundVariants {
  std::vector<Variant> variants;
  std::vector<Result> unusable;
};

FoundVariants find(const std::vector<SelectedFixture>& files, const MistakesOptions& options) {
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

/// A paragraph for each file or case that cannot be read: which one, why, and how to see it again.
std::string unusable_text(const std::vector<Result>& unusable, bool colour) {
  std::string text;
  for (const Result& result : unusable) {
    const std::string where =
        result.case_name ? result.problem + " / " + *result.case_name : result.fixture;
    text += toned(name(result.status), Tone::bad, colour) + "  " +
            toned(printable(where), Tone::strong, colour) + "\n    " + printable(result.message) +
            "\n    " + toned("repeat: " + printable(result.repeat, 4000), Tone::quiet, colour) +
            "\n";
  }
  return text;
}

int mistakes(MistakesOptions options) {
  const auto start = std::chrono::steady_clock::now();
  if (!options.json.empty()) require_writable(options.json);
  std::ranges::move(options.problems, std::back_inserter(options.selection.problems));
  const std::vector<SelectedFixture> files = open_files(options.selection, options.jobs);
  const FoundVariants found = find(files, options);
  Report report;
  report.command = "mistakes";
  for (const Variant& variant : found.variants) {
    report.results.insert(report.results.end(), variant.results.begin(), variant.results.end());
  }
  report.results.insert(report.results.end(), found.unusable.begin(), found.unusable.end());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.seconds = seconds.count();

  if (!options.json.empty()) write_text(options.json, json_of(report, found.variants, options));
  if (options.json != "-") {
    const bool colour = wants_colour(options.no_color);
    print(unusable_text(found.unusable, colour));
    if (found.variants.empty()) {
      print(options.solution + " has no variant for these problems\n");
    } else {
      print(listing(found.variants, options, colour) + "\n");
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

Command mistakes_command() {
  const auto options = std::make_shared<MistakesOptions>();
  MistakesOptions& o = *options;
  return {
      .name = "mistakes",
      .description = "Show the known mistakes and which cases catch them",
      .options = {{"PROBLEM TEXT", o.problems, "Only these problems (globs)"},
                  selection_options(o.selection),
                  {"--solution NAME|PATH", o.solution, "Solution whose variants are tried",
                   Trait::shows_default},
                  {"--expect-pass", o.expect_pass,
                   "The variants are correct and must pass every case"},
                  json_option(o.json),
                  {"--verbose", o.verbose, "Describe each mistake in full, and name each case"},
                  {"--no-color", o.no_color, "Disable colours"},
                  jobs_option(o.jobs)},
      .footer =
          R"(3/10: 3 of 10 cases catch the mistake. -: the mistake is not written for that dtype.
Cases that must be refused are not tried, and long ones only where no other case of a type
catches the mistake. For one problem, or with --verbose, each mistake
is explained.

Examples:
  prenorm mistakes PROBLEM
  prenorm mistakes --solution honest --expect-pass

Exit code: 0, or 1 if no case catches a mistake, or a variant that must pass fails)",
      .run = [options] { return mistakes(*options); }};
}

}  // namespace prenorm::harness
