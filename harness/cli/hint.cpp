// prenorm hint: hints on the first failure of a report, those of `prenorm watch`.
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/terminal.hpp"
#include "cli/commands.hpp"
#include "watch/screen.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace prenorm::harness {
namespace {

constexpr std::size_t most_report = 64u << 20;  // bytes
constexpr std::size_t most_text = 2000;  // of a line: a report may hold a submission's own words

struct HintOptions {
  std::string report;
  std::string problem;
  std::size_t shown = 1;
  std::vector<std::string> fixtures;
};

Attempt read_attempt(const std::string& path) {
  const std::optional<std::string> text = read_whole(path, most_report + 1);
  if (!text) throw UsageError("no file " + path);
  if (text->size() > most_report) {
    throw UsageError(fmt::format("{} is larger than {} MiB", path, most_report >> 20));
  }
  try {
    return attempt_of(parse_json(*text));
  } catch (const Json::exception&) {
  }
  throw UsageError(path + " is no report of one submission by prenorm grade --json");
}

int hint(const HintOptions& options) {
  const Attempt attempt = read_attempt(options.report);
  History history;
  history.take(attempt);
  const auto say = [](const std::string& line) { print(printable(line, most_text) + "\n"); };
  if (attempt.status != Status::passed) {
    say(fmt::format("{}: no case ran, so there is no hint yet", name(attempt.status)));
    return 0;
  }
  const WatchedCase* failing = history.first_failure(options.problem);
  if (failing == nullptr) {
    const auto counts = history.counts();
    const bool asked = options.problem.empty() ||
                       std::ranges::count(counts, options.problem, &History::ProblemCount::problem);
    if (!asked) throw UsageError(options.report + " has no problem " + options.problem);
    say("no case failed" + (options.problem.empty() ? "" : " of " + options.problem));
    return 0;
  }
  say(failing->problem + ", " + failing->name);
  const auto ladder = hint_ladder(*failing, history.cause(failing->problem),
                                  formula_of(failing->problem, options.fixtures));
  for (const std::string& line : hint_lines(ladder, options.shown)) say("  " + line);
  return 0;
}

}  // namespace

Command hint_command() {
  const auto options = std::make_shared<HintOptions>();
  HintOptions& o = *options;
  return {
      .name = "hint",
      .description = "Give hints on a failure of a report",
      .options =
          {{"REPORT TEXT", o.report, "A file that `prenorm grade --json` wrote", Trait::required},
           {"--problem NAME", o.problem,
            "Of this problem (default: the one that loses the most points)"},
           {"--number N", o.shown, "How many hints, the vaguest first (default: 1)", whole_number},
           {"--fixtures PATH", o.fixtures, "Fixture files or folders (default: the shipped ones)"}},
      .footer =
          R"(The hints are those of `prenorm watch`: what to look at, what is wrong with the outputs, the
formula; never the solution.

Example:
  prenorm grade ./mine --no-hidden --json report.json
  prenorm hint report.json
  prenorm hint report.json --problem PROBLEM --number 2

Exit code: 0, or 2 for a file that is no report, or has no such problem)",
      .run = [options] { return hint(*options); }};
}

}  // namespace prenorm::harness
