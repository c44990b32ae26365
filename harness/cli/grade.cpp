#include "cli/command.hpp"
#include "cli/grade.hpp"
#include "cli/grade_class.hpp"
#include "cli/parallel.hpp"
#include "cli/terminal.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/prctl.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct Options {
  GradeSettings how;
  ClassOptions many;
  std::string executor;
  std::vector<std::string> submissions;
  bool verbose = false, no_color = false;
  std::string json, junit, html, instructor;
  unsigned jobs = processors();
  bool jobs_given = false;

  std::vector<std::string> reports() const {
    std::vector<std::string> paths{json, junit, html, instructor};
    std::erase(paths, "");
    return paths;
  }
};

void check_reports(const Options& options) {
  const std::vector<std::string> paths = options.reports();
  if (std::ranges::count(paths, "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
  for (const std::string& path : paths) require_writable(path);
}

int grade_one(Options options) {
  check_reports(options);
  Progress progress;
  Grader grader(options.how, options.jobs,
                [&progress](const std::string& what, std::size_t done, std::size_t total) {
                  progress.show(total == 0 ? what : fmt::format("[{}/{}] {}", done, total, what));
                });
  Grading grading;
  try {
    grading = grader.grade(options.submissions.front());
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  progress.clear();

  if (!options.json.empty()) write_text(options.json, grade_json(grading, false));
  if (!options.instructor.empty()) write_text(options.instructor, grade_json(grading, true));
  if (!options.junit.empty()) write_text(options.junit, grade_junit(grading));
  if (!options.html.empty()) write_text(options.html, grade_html(grading));
  const std::vector<std::string> reports = options.reports();
  if (std::ranges::find(reports, "-") == reports.end()) {
    print(grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose));
  }
  return exit_code(grading.results(true), true);
}

int grade(Options options) {
  // No other process of this user reads our memory, where the answers are.
  ::prctl(PR_SET_DUMPABLE, 0);
  options.many.jobs = options.jobs;
  if (!options.many.slurm && !options.many.slurm_options.empty()) {
    throw UsageError("--slurm-option is for --executor slurm");
  }
  if (options.many.slurm && options.many.gradebook.empty()) {
    throw UsageError("--executor slurm needs --gradebook FILE, which keeps what came of a class");
  }
  if (!options.many.planned.empty()) return grade_planned(options.many);
  if (!options.many.gradebook.empty()) {
    if (!options.reports().empty()) {
      throw UsageError("reports are of one submission; of a class: prenorm gradebook " +
                       options.many.gradebook + " --help");
    }
    // The login node's processors say nothing of a task's.
    if (options.many.slurm && !options.jobs_given) options.many.jobs = 1;
    return grade_class(options.submissions, options.how, options.many);
  }
  if (options.submissions.empty()) throw UsageError("no submission: name its file or folder");
  if (options.submissions.size() > 1) {
    throw UsageError("several submissions need --gradebook FILE, which keeps what came of them");
  }
  return grade_one(std::move(options));
}

void add_limits(CLI::App& command, Options& options) {
  command
      .add_option("--sandbox", options.how.sandbox,
                  "bubblewrap (default where it works), process, or none")
      ->check(CLI::IsMember({"bubblewrap", "process", "none"}).description(""))
      ->type_name("KIND");
  command.add_option("--python", options.how.python, "The interpreter for Python submissions")
      ->capture_default_str()
      ->type_name("PATH");
  command.add_option("--timeout", options.how.timeout, "For one call (default: 10)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command
      .add_option("--build-timeout", options.how.build_timeout, "For building it (default: 300)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command
      .add_option("--memory", options.how.memory, "For all of its processes together (default: 4)")
      ->check(positive_seconds())
      ->type_name("GIB");
}

}  // namespace

void add_grade(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("grade", "Run somebody's work, isolated, and score it");
  command
      .add_option(
          "SUBMISSION", options->submissions,
          "A folder with a CMakeLists.txt, a library, adapters.py or its folder, or outputs")
      ->type_name("");
  command
      .add_option("--rubric", options->how.rubric,
                  "A shipped one, or a file (x.toml) (default: cs336-2025)")
      ->type_name("NAME|FILE");
  add_limits(command, *options);
  command
      .add_option("--seed", options->how.seed,
                  "Draws the hidden cases (default: a fresh secret; used twice it is none)")
      ->check(whole_number())
      ->type_name("N");
  command.add_flag("--no-hidden", options->how.no_hidden, "Leave hidden cases out");
  add_selection_options(command, options->how.selection);
  add_jobs_option(command, options->jobs);
  ClassOptions& many = options->many;
  command
      .add_option("--gradebook", many.gradebook,
                  "Keep what comes of many submissions in this file (SQLite)")
      ->type_name("FILE");
  command.add_flag("--regrade", many.regrade, "Also what did not change since it was graded");
  command.add_option("--retries", many.retries, "Of a grader that dies (default: 2)")
      ->check(whole_number())
      ->type_name("N");
  command
      .add_option("--work", many.work, "For what is not in the gradebook yet (default: beside it)")
      ->type_name("FOLDER");
  command
      .add_option("--executor", options->executor, "local (default), or slurm: as array jobs of it")
      ->check(CLI::IsMember({"local", "slurm"}).description(""))
      ->type_name("KIND");
  add_repeatable(command, "--slurm-option", many.slurm_options,
                 "Handed to sbatch: --slurm-option=--partition=short")
      ->type_name("OPTION");
  command
      .add_option("--batch", many.batch, "Submissions of one of Slurm's tasks (default: by number)")
      ->check(whole_number())
      ->type_name("N");
  // What the graders of a class are started with.
  command.add_option("--planned", many.planned)->group("");
  command.add_option("--number", many.number)->group("");
  command.add_option("--part", many.part)->group("");
  command.add_option("--json", options->json, "Write a report (-: to standard output)")
      ->type_name("FILE");
  command.add_option("--junit", options->junit, "The same in JUnit's XML")->type_name("FILE");
  command.add_option("--html", options->html, "The same as a page")->type_name("FILE");
  command
      .add_option("--instructor", options->instructor,
                  "JSON with the seed and what hidden cases gave: not for students")
      ->type_name("FILE");
  command.add_flag("--verbose", options->verbose, "Every failing case");
  command.add_flag("--no-color", options->no_color, "No colour, as with NO_COLOR set");
  command.footer(
      "A group of cases earns its share of an item's points where all of them pass. Hidden cases\n"
      "are drawn anew for every grading; reports tell their status only.\n\n"
      "Examples:\n"
      "  prenorm grade ./alice                                    by the course's points\n"
      "  prenorm grade ./alice/build/libalice.so --rubric all     every problem and element type\n"
      "  prenorm grade ./alice --html report.html --instructor secret.json\n"
      "  prenorm grade ./alice --problem 'ffn_*' --no-hidden      some of it, quickly\n\n"
      "Exit code: 0 all passed, 1 something failed, 2 a word or file that cannot be used,\n"
      "3 nothing ran");
  command.callback([options, &command, &chosen] {
    options->many.slurm = options->executor == "slurm";
    options->jobs_given = command.get_option("--jobs")->count() > 0;
    chosen = [options] { return grade(*options); };
  });
}

}  // namespace prenorm::harness
