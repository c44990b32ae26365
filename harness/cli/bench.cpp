// prenorm bench: solutions and peers in turn at the shapes of real models.
#include "base/text.hpp"
#include "base/files.hpp"
#include "base/process.hpp"
#include "base/terminal.hpp"
#include "bench/bench.hpp"
#include "cli/commands.hpp"

#include <algorithm>
#include <cstdlib>

namespace prenorm::harness {
namespace bench {
namespace {

struct Options : BenchOptions {
  std::string json, json_lines, svg;
  bool list = false, quick = false, compare = false, no_color = false;
};

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

int time_solutions(Options options) {
  if (options.quick) options.samples = std::min(options.samples, 3);
  require_reports({options.json, options.svg});
  require_lines("--json-lines", options.json_lines);
  if (options.file.empty()) options.file = (data_folder() / "shapes.json").string();
  // What starts later, workers and peers, takes these over.
  const std::string threads = std::to_string(options.threads);
  ::setenv("OPENBLAS_NUM_THREADS", threads.c_str(), 1);
  ::setenv("OMP_NUM_THREADS", threads.c_str(), 1);
  keep_freed_memory();  // page faults are no part of anybody's time
  // A thread that spins while it waits may keep the others from the processor that they need.
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  // One that wakes up where the other runs stays there for milliseconds: a core each.
  ::setenv("OMP_PROC_BIND", "true", 1);

  Workloads workloads = read_workloads(options);
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
  LineFile lines(options.json_lines);
  const auto keep = [&](const BenchReport& so_far, std::size_t first) {
    if (!lines.is_open()) return;
    if (so_far.rows.empty()) lines.write(to_json_lines_head(so_far));
    for (std::size_t i = first; i < so_far.rows.size(); ++i) {
      lines.write(to_json_line(so_far.rows[i], so_far));
    }
  };
  BenchReport report = run_bench(options, std::move(workloads), field, keep);
  if (lines.is_open()) lines.write(to_json_lines_head(report));
  if (options.compare) report.compare = time_comparing(*field.first_peer(), options);
  if (!options.json.empty()) write_text(options.json, to_json(report));
  if (!options.svg.empty()) write_text(options.svg, to_svg(report));
  if (options.json != "-" && options.svg != "-") print(bench_text(report, colour));
  lines.require_all();
  const int code = exit_code_of(report);
  if (code == 3 && options.json != "-") print("nothing was timed\n");
  return code;
}

}  // namespace
}  // namespace bench

Command bench_command() {
  const auto options = std::make_shared<bench::Options>();
  bench::Options& o = *options;
  return {
      .name = "bench",
      .description =
          "Time solutions at the shapes of real models; compare with the machine's limits",
      .options = {{"--solution NAME|PATH", o.solutions,
                   "A shipped solution or a library (default: fast, and those for a device)"},
                  {"--problem NAME", o.selection.problems, "Only these problems (globs)"},
                  {"--shape NAME", o.shapes, "Only these shapes (globs), in this order"},
                  dtype_option(o.selection),
                  {"--set", o.set,
                   "Shapes for the CPU or for a device (default: where each solution runs)",
                   OneOf{"cpu", "device"}},
                  {"--list", o.list, "List the shapes and time nothing"},
                  {"--samples N", o.samples, "Timed calls per shape and solution (default: 11)",
                   in_range(1, 100000)},
                  {"--quick", o.quick, "At most 3 samples"},
                  {"--threads N", o.threads,
                   "Threads of each solution and peer (default: all cores)", in_range(1, 4096)},
                  {"--pytorch PYTHON", o.pythons,
                   "A Python with PyTorch: a peer, timed in turn with the solutions"},
                  {"--compile", o.compile, "With --pytorch: also time torch.compile"},
                  {"--peer FILE.json", o.peers, "Timings that a peer measured itself"},
                  {"--compare", o.compare,
                   "With --pytorch: also time comparing outputs, here and in NumPy"},
                  {"--shapes FILE", o.file, "Read the shapes from this file"},
                  {"--fixtures PATH", o.selection.fixtures,
                   "Fixture files with the signatures (default: the shipped ones)"},
                  seed_option(o.seed),
                  {"--timeout SECONDS", o.timeout, "Limit for one call (default: 600)", positive},
                  json_option(o.json),
                  {"--json-lines FILE", o.json_lines,
                   "Write each row as a line of JSON as soon as it is measured"},
                  {"--svg FILE", o.svg, "Draw a roofline plot"},
                  {"--in-process", o.in_process,
                   "Load the solutions into this process, for a profiler"},
                  no_color_option(o.no_color)},
      .footer =
          R"(Every timed call gets fresh random values, and its outputs are checked against `fast` in
float64: a wrong answer is WRONG and has no time. A time that the machine cannot reach is
IMPOSSIBLE: an error of the measurement. Ceilings are measured in the same run.

Examples:
  prenorm bench                                       solution fast on this CPU
  prenorm bench --solution fast --solution reference  and the reference beside it
  prenorm bench --pytorch /usr/bin/python3            compared with PyTorch
  prenorm bench --solution ./libmine.so --problem 'ffn_*' --svg roofline.svg

Exit code: 0 all were timed, 1 a wrong answer, a failure or an impossible time, 2 a file or
word that cannot be used, 3 nothing was timed)",
      .run = [options] { return bench::time_solutions(*options); }};
}

}  // namespace prenorm::harness
