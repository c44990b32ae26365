#include "check/command.hpp"

#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "fixture/selection.hpp"
#include "replay/replay.hpp"
#include "replay/runner.hpp"
#include "report/table.hpp"
#include "solution/solution.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

struct CheckOptions {
  Selection selection;
  bool no_hints = false, no_color = false;
  unsigned jobs = processors();
};

/// The shipped solutions that must pass, of those that there are.
std::vector<Column> honest_contestants(const std::string& problem, SolutionPool& pool) {
  std::vector<Column> columns;
  for (const char* solution : {"reference", "fast", "plain", "plain-tf32"}) {
    if (!is_shipped(solution)) continue;
    if (pool.get(solution).load() && pool.get(solution).functions().contains(problem)) {
      columns.push_back({solution, solution, "", false});
    }
  }
  return columns;
}

constexpr const char* open_results =
    " (what is not finite and hidden from a query, by a mask or as a later position, may give NaN "
    "or a number: no case may ask for it)";

/// Whether a number is where NaN is expected, or NaN where a number is.
bool differs_in_nan(const Result& result) {
  return std::ranges::any_of(result.outputs, [](const OutputReport& output) {
    return output.worst_actual && output.worst_expected &&
           std::isnan(*output.worst_actual) != std::isnan(*output.worst_expected);
  });
}

/// Whether solutions that are right pass the cases. Where the case asks for what is not specified,
/// they differ.
void check_honest(const SelectedFixture& file, SolutionPool& pool, std::vector<Finding>& findings) {
  RunOptions options;
  options.replay = {.twice = false, .alone = false};
  std::vector<Result> results =
      replay_file(file, honest_contestants(file.fixture->problem(), pool), pool, options);
  if (is_shipped("honest")) {
    for (Variant& variant : catches(file, "honest", pool, results)) {
      std::ranges::move(variant.results, std::back_inserter(results));
    }
  }
  const auto somebody_passes = [&results](const std::string& case_name) {
    return std::ranges::any_of(results, [&](const Result& result) {
      return result.case_name == case_name && result.status == Status::passed;
    });
  };
  for (const Result& result : results) {
    if (result.status == Status::passed || result.status == Status::skipped ||
        result.status == Status::not_implemented) {
      continue;
    }
    const std::string who = result.solution.empty() ? "" : result.solution + ": ";
    findings.push_back(
        {true,
         "case " + result.case_name.value_or("?") + ", " + who + std::string(name(result.status)) +
             ", " + result.message +
             (differs_in_nan(result) && somebody_passes(*result.case_name) ? open_results : "")});
  }
}

/// Whether the known mistakes fail somewhere: nowhere is a defect, not in one type is a hint.
void check_mistakes(const SelectedFixture& file, SolutionPool& pool,
                    std::vector<Finding>& findings) {
  if (!is_shipped("mistakes")) return;
  std::vector<Result> damaged;
  const std::vector<Variant> variants = catches(file, "mistakes", pool, damaged);
  if (variants.empty()) findings.push_back({false, "this problem has no known mistakes to try"});
  for (const Variant& variant : variants) {
    if (variant.tried() == 0) continue;
    if (variant.caught().empty()) {
      findings.push_back({true, "no case catches the mistake " + variant.name});
      continue;
    }
    for (const auto& [dtype, cases] : variant.dtypes) {
      if (!cases.caught.empty()) continue;
      findings.push_back({false, "no " + dtype + " case catches the mistake " + variant.name});
    }
  }
}

/// Cases without a tolerance cannot be judged: one finding for all of them.
void set_aside_uncalibrated(SelectedFixture& file, std::vector<Finding>& findings) {
  std::vector<std::string> names;
  std::erase_if(file.cases, [&names](const Case* info) {
    const bool missing = std::ranges::any_of(
        info->outputs, [](const OutputInfo& output) { return !output.tolerance; });
    if (missing) names.push_back(info->name);
    return missing;
  });
  if (names.empty()) return;
  findings.push_back({true, "no atol and rtol in " + counted(names.size(), "case") + ", as in " +
                                names.front() + " (prenorm fixtures calibrate FILE derives them)"});
}

std::vector<Finding> check(SelectedFixture& file, SolutionPool& pool) {
  const Fixture& fixture = *file.fixture;
  std::vector<Finding> findings;
  for (const Case* info : file.cases) {
    try {
      std::ranges::move(lint_case(fixture.signature(), load_case(fixture, *info)),
                        std::back_inserter(findings));
    } catch (const BadFixture& error) {
      findings.push_back({true, error.what()});
    }
  }
  set_aside_uncalibrated(file, findings);
  check_honest(file, pool, findings);
  check_mistakes(file, pool, findings);
  std::ranges::move(lint_coverage(fixture), std::back_inserter(findings));
  std::ranges::stable_partition(findings, &Finding::defect);
  return findings;
}

std::string summary(const std::string& path, std::size_t cases,
                    const std::vector<Finding>& findings, const CheckOptions& options) {
  const bool colour = wants_colour(options.no_color);
  const auto defects = static_cast<std::size_t>(std::ranges::count_if(findings, &Finding::defect));
  std::string text = toned(printable(path), Tone::strong, colour) + "  " + counted(cases, "case") +
                     ", " + (defects == 0 ? "no defect" : counted(defects, "defect")) + "\n";
  for (const Finding& finding : findings) {
    if (!finding.defect && options.no_hints) continue;
    text += finding.defect ? toned("  defect  ", Tone::bad, colour)
                           : toned("  hint    ", Tone::quiet, colour);
    text += printable(finding.what, 2000) + "\n";
  }
  return text;
}

int run(const CheckOptions& options) {
  std::vector<SelectedFixture> files =
      open_files(options.selection, options.jobs, Requirements{.tolerances = false});
  std::vector<SolutionPool> pools = make_pools(options.jobs);
  std::vector<std::string> texts(files.size());
  std::atomic<bool> unusable = false, defective = false;
  {
    Progress progress;
    std::atomic<std::size_t> done = 0;
    in_parallel(files.size(), options.jobs, [&](std::size_t i, std::size_t thread) {
      SelectedFixture& file = files[i];
      progress.show(fmt::format("[{}/{}] {}", ++done, files.size(), file.path));
      if (!file.fixture) {
        unusable = true;
        texts[i] = summary(file.path, 0, {{true, file.error}}, options);
        return;
      }
      const std::size_t cases = file.cases.size();
      const std::vector<Finding> findings = check(file, pools[thread]);
      if (std::ranges::any_of(findings, &Finding::defect)) defective = true;
      texts[i] = summary(file.path, cases, findings, options);
    });
  }
  for (const std::string& text : texts) print(text);
  if (unusable) return 2;
  if (defective) return 1;
  if (!files.empty()) return 0;
  print("nothing to check: no file has a case\n");
  return 3;
}

}  // namespace

Command fixtures_check_command() {
  const auto options = std::make_shared<CheckOptions>();
  CheckOptions& o = *options;
  return {
      .name = "check",
      .description = "Report defects in fixture files",
      .options = {{"FILE TEXT", o.selection.fixtures, "Fixture files, or folders of them",
                   Trait::required},
                  {"--no-hints", o.no_hints, "Report defects only"},
                  {"--no-color", o.no_color, "Disable colours"},
                  jobs_option(o.jobs)},
      .footer =
          R"(A defect is a broken rule of the format, a tolerance so wide that zeros, an answer in a
narrower dtype or a known mistake passes, one so tight that a correct solution fails, or a NaN or
infinity that is hidden from a query.
A hint is advice.

Example:
  prenorm fixtures check mine.h5

Exit code: 0 no defect, 1 defects, 2 a file cannot be read)",
      .run = [options] { return run(*options); }};
}

}  // namespace prenorm::harness
