// prenorm bench: solutions and peers in turn at the shapes of real models.
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "bench/bench.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"

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

int bench_command(Options options) {
  if (options.quick) options.samples = std::min(options.samples, 3);
  if (options.json == "-" && options.svg == "-") {
    throw UsageError("standard output (-) holds one report only");
  }
  LineFile lines("--json-lines", options.json_lines);
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
  const int code = exit_code_of(report);
  if (code == 3 && options.json != "-") print("nothing was timed\n");
  return code;
}

}  // namespace
}  // namespace bench

void add_bench(Arguments& app, Action& chosen) {
  using namespace bench;
  auto options = std::make_shared<Options>();
  Arguments& command = *app.add_subcommand(
      "bench", "Time solutions at the shapes of real models; compare with the machine's limits");
  add_repeatable(command, "--solution", options->solutions,
                 "A shipped solution or a library (default: reference, and those for a device)")
      ->type_name("NAME|PATH");
  add_repeatable(command, "--problem", options->selection.problems, "Only these problems (globs)")
      ->type_name("NAME");
  add_repeatable(command, "--shape", options->shapes, "Only these shapes (globs), in this order")
      ->type_name("NAME");
  add_repeatable(command, "--dtype", options->selection.dtypes, "Only these dtypes")
      ->type_name("DTYPE");
  command
      .add_option("--set", options->set,
                  "Shapes for the CPU or for a device (default: where each solution runs)")
      ->check(is_member({"cpu", "device"}))
      ->type_name("cpu|device");
  command.add_flag("--list", options->list, "List the shapes and time nothing");
  command
      .add_option("--samples", options->samples, "Timed calls per shape and solution (default: 11)")
      ->check(in_range(1, 100000))
      ->type_name("N");
  command.add_flag("--quick", options->quick, "At most 3 samples");
  command
      .add_option("--threads", options->threads,
                  "Threads of each solution and peer (default: all cores)")
      ->check(in_range(1, 4096))
      ->type_name("N");
  add_repeatable(command, "--pytorch", options->pythons,
                 "A Python with PyTorch: a peer, timed in turn with the solutions")
      ->type_name("PYTHON");
  command.add_flag("--compile", options->compile, "With --pytorch: also time torch.compile");
  add_repeatable(command, "--peer", options->peers, "Timings that a peer measured itself")
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
  command
      .add_option("--json-lines", options->json_lines,
                  "Write each row as a line of JSON as soon as it is measured")
      ->type_name("FILE");
  command.add_option("--svg", options->svg, "Draw a roofline plot")->type_name("FILE");
  command.add_flag("--in-process", options->in_process,
                   "Load the solutions into this process, for a profiler");
  command.add_flag("--no-color", options->no_color, "Disable colours, like NO_COLOR=1");
  command.footer(
      "Every timed call gets fresh random values, and its outputs are checked against the "
      "reference "
      "in\nfloat64: a wrong answer is WRONG and has no time. A time that the machine cannot reach "
      "is\nIMPOSSIBLE: an error of the measurement. Ceilings are measured in the same run.\n\n"
      "Examples:\n"
      "  prenorm bench                                       the reference on this CPU\n"
      "  prenorm bench --pytorch /usr/bin/python3            compared with PyTorch\n"
      "  prenorm bench --solution ./libmine.so --problem 'ffn_*' --svg roofline.svg\n\n"
      "Exit code: 0 all were timed, 1 a wrong answer, a failure or an impossible time, 2 a file "
      "or\n"
      "word that cannot be used, 3 nothing was timed");
  command.callback([options, &chosen] { chosen = [options] { return bench_command(*options); }; });
}

}  // namespace prenorm::harness
