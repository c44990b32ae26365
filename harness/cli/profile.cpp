// prenorm profile: what kernels do to memory, counted by the emulator.
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "cli/commands.hpp"
#include "emulate/emulate.hpp"
#include "profile/profile_report.hpp"

#include <cstdlib>

namespace prenorm::harness {
namespace profile {
namespace {

struct Options : ProfileOptions {
  std::string json, html, svg;
  LineFilter wanted;
  bool lines = false, no_color = false;
};

/// 1 where a call failed, 3 where no version was profiled.
int exit_code_of(const ProfileReport& report) {
  bool any = false;
  for (const ProfileRow& row : report.rows) {
    if (row.status == Status::not_implemented) continue;
    if (!row.ok()) return 1;
    any = true;
  }
  return any ? 0 : 3;
}

/// For a profiler around this process: says nothing but what fails.
int call_only(const Options& options) {
  if (options.solutions.empty()) throw UsageError("--only-call goes with --solution");
  const ProfileReport report = run_profile(options);
  for (const ProfileRow& row : report.rows) {
    if (!row.ok()) print(row.solution + ": " + printable(row.message, 300) + "\n");
  }
  return exit_code_of(report);
}

/// Compiles the solutions that are CUDA sources.
void compile_sources(Options& options, const fs::path& folder) {
  const std::string architecture = device_named(options.device).architecture;
  for (const std::string& name : options.solutions) {
    if (!is_cuda_source(name) || options.compiled.contains(name)) continue;
    const auto library = compile_cuda_solution(name, folder);
    const std::string report = ptxas_report(name, architecture, library.parent_path());
    options.compiled[name] = {library, parse_resources(report, architecture)};
  }
}

int count_calls(Options options) {
  if (options.only_call) return call_only(options);
  require_reports({options.json, options.html, options.svg});
  const TemporaryFolder folder;
  compile_sources(options, folder.path());
  // The workers, which start later, take it over.
  ::setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);
  const ProfileReport report = run_profile(options);
  if (!options.json.empty()) write_text(options.json, to_json(report));
  if (!options.html.empty()) write_text(options.html, profile_html(report, options.wanted));
  if (!options.svg.empty()) write_text(options.svg, profile_svg(report, options.wanted));
  const int code = exit_code_of(report);
  for (const std::string& path : {options.json, options.html, options.svg}) {
    if (path == "-") return code;
  }
  const bool colour = wants_colour(options.no_color);
  print(profile_text(report, colour));
  if (options.lines) print("\n" + lines_text(report, options.wanted, colour));
  if (code == 3) print("nothing was profiled\n");
  return code;
}

}  // namespace
}  // namespace profile

Option picture_options(std::string& html, std::string& svg) {
  return std::vector<Option>{
      {"--html FILE", html,
       "Write a page with the tables, and pictures of the requests that cost most"},
      {"--svg FILE", svg,
       "Write a picture of one request: of the line that costs most, or of --line"}};
}

Command profile_command() {
  const auto options = std::make_shared<profile::Options>();
  profile::Options& o = *options;
  return {
      .name = "profile",
      .description =
          "Count what kernels do to memory, without a device: sectors, conflicts, barriers",
      .options = {{"PROBLEM TEXT", o.selection.problems, "Problems (names or globs)",
                   Trait::required},
                  {"--solution NAME|PATH", o.solutions,
                   "A solution or library that counts, or a CUDA source (default: all versions)"},
                  {"--shape NAME", o.shapes,
                   "Only these shapes (globs) of the profile's list, or else of the bench's"},
                  {"--case NAME", o.selection.cases,
                   "These cases of the problem's fixture (globs) instead of shapes"},
                  dtype_option(o.selection),
                  {"--fixtures PATH", o.selection.fixtures,
                   "Fixture files with signatures and cases (default: the shipped ones)"},
                  {"--device NAME", o.device,
                   "Device of the lower bound on time: h100, h200, a100, rtx4090 (default: h100)"},
                  {"--lines", o.lines, "List the source lines that cost most"},
                  {"--line FILE:LINE", o.wanted.line,
                   "Only this source line, for --lines, --html and --svg; as --lines names it"},
                  {"--memory", o.wanted.memory,
                   "Only accesses of this memory, for --lines, --html and --svg",
                   OneOf{"global", "shared"}},
                  {"--threads N", o.threads,
                   "Threads of the emulator (default: all cores); the counts are the same",
                   in_range(1, 4096)},
                  {"--counters ncu|none|FILE", o.counters,
                   "A device's counters beside: by ncu (default, where it is), or its CSV file"},
                  {"--only-call", o.only_call,
                   "Only call the solutions, in this process: for a profiler around it"},
                  seed_option(o.seed),
                  {"--timeout SECONDS", o.timeout, "Limit for one call (default: 600)", positive},
                  json_option(o.json),
                  picture_options(o.html, o.svg),
                  no_color_option(o.no_color)},
      .footer =
          R"(Counts are exact and repeatable; a bound is a bound, and no time. docs/profile.md says what is
counted and how. Outputs are not compared: prenorm verify does that.

Examples:
  prenorm profile PROBLEM                        all versions side by side
  prenorm profile PROBLEM --lines --device a100  and the lines that cost most
  prenorm profile PROBLEM --case 'float32_*'     at cases of the fixture
  prenorm profile PROBLEM --html profile.html    with pictures of requests
  prenorm profile PROBLEM --svg request.svg --line kernel.cu:42
  prenorm profile PROBLEM --solution cuda-naive-emulated --json -
  prenorm profile PROBLEM --solution ./mine.cu   a CUDA source, compiled first

Exit code: 0 all were profiled, 1 a call failed, 2 an invalid option or file, 3 nothing was
profiled)",
      .run = [options] { return profile::count_calls(*options); }};
}

}  // namespace prenorm::harness
