// prenorm profile: what kernels do to memory, counted by the emulator.
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/cuda_compiler.hpp"
#include "cli/options.hpp"
#include "profile/profile_report.hpp"

#include <algorithm>
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
void compile_sources(Options& options, const std::filesystem::path& folder) {
  const std::string architecture = device_named(options.device).architecture;
  for (const std::string& name : options.solutions) {
    if (!is_cuda_source(name) || options.compiled.contains(name)) continue;
    const auto library = compile_cuda_solution(name, folder);
    const std::string report = ptxas_report(name, architecture, library.parent_path());
    options.compiled[name] = {library, parse_resources(report, architecture)};
  }
}

int profile_command(Options options) {
  if (options.only_call) return call_only(options);
  for (const std::string& path : {options.json, options.html, options.svg}) {
    if (!path.empty()) require_writable(path);
  }
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

void add_profile(Arguments& app, Action& chosen) {
  using namespace profile;
  auto options = std::make_shared<Options>();
  Arguments& command = *app.add_subcommand(
      "profile", "Count what kernels do to memory, without a device: sectors, conflicts, barriers");
  command.add_option("PROBLEM", options->selection.problems, "Problems (names or globs)")
      ->required();
  add_repeatable(command, "--solution", options->solutions,
                 "A solution or library that counts, or a CUDA source (default: all versions)")
      ->type_name("NAME|PATH");
  add_repeatable(command, "--shape", options->shapes,
                 "Only these shapes (globs) of the profile's list, or else of the bench's")
      ->type_name("NAME");
  add_repeatable(command, "--case", options->selection.cases,
                 "These cases of the problem's fixture (globs) instead of shapes")
      ->type_name("NAME");
  add_repeatable(command, "--dtype", options->selection.dtypes, "Only these dtypes")
      ->type_name("DTYPE");
  add_repeatable(command, "--fixtures", options->selection.fixtures,
                 "Fixture files with signatures and cases (default: the shipped ones)")
      ->type_name("PATH");
  command
      .add_option("--device", options->device,
                  "Device of the lower bound on time: h100, h200, a100, rtx4090 (default: h100)")
      ->type_name("NAME");
  command.add_flag("--lines", options->lines, "List the source lines that cost most");
  command
      .add_option("--line", options->wanted.line,
                  "Only this source line, for --lines, --html and --svg; as --lines names it")
      ->type_name("FILE:LINE");
  command
      .add_option("--memory", options->wanted.memory,
                  "Only accesses of this memory, for --lines, --html and --svg")
      ->check(is_member({"global", "shared"}))
      ->type_name("global|shared");
  command
      .add_option("--threads", options->threads,
                  "Threads of the emulator (default: all cores); the counts are the same")
      ->check(in_range(1, 4096))
      ->type_name("N");
  command
      .add_option("--counters", options->counters,
                  "A device's counters beside: by ncu (default, where it is), or its CSV file")
      ->type_name("ncu|none|FILE");
  command.add_flag("--only-call", options->only_call,
                   "Only call the solutions, in this process: for a profiler around it");
  command.add_option("--seed", options->seed, "Seed of the random values (default: 0)")
      ->check(whole_number())
      ->type_name("N");
  command.add_option("--timeout", options->timeout, "Limit for one call (default: 600)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command.add_option("--json", options->json, "Write a JSON report (-: to standard output)")
      ->type_name("FILE");
  add_picture_options(command, options->html, options->svg);
  command.add_flag("--no-color", options->no_color, "Disable colours, like NO_COLOR=1");
  command.footer(
      "Counts are exact and repeatable; a bound is a bound, and no time. docs/profile.md says what "
      "is\ncounted and how. Outputs are not compared: prenorm verify does that.\n\n"
      "Examples:\n"
      "  prenorm profile PROBLEM                        all versions side by side\n"
      "  prenorm profile PROBLEM --lines --device a100  and the lines that cost most\n"
      "  prenorm profile PROBLEM --case 'float32_*'     at cases of the fixture\n"
      "  prenorm profile PROBLEM --html profile.html    with pictures of requests\n"
      "  prenorm profile PROBLEM --svg request.svg --line kernel.cu:42\n"
      "  prenorm profile PROBLEM --solution cuda-naive-emulated --json -\n"
      "  prenorm profile PROBLEM --solution ./mine.cu   a CUDA source, compiled first\n\n"
      "Exit code: 0 all were profiled, 1 a call failed, 2 an invalid option or file, 3 nothing "
      "was\n"
      "profiled");
  command.callback(
      [options, &chosen] { chosen = [options] { return profile_command(*options); }; });
}

}  // namespace prenorm::harness
