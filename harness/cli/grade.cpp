#include "base/error.hpp"
#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "class/grade_planned.hpp"
#include "cli/command.hpp"
#include "cli/grade_class.hpp"
#include "cli/options.hpp"
#include "grade/grader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/prctl.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct GradeCommand {
  GradeSettings how;
  ClassOptions many;
  std::string executor;
  // Of the processes that a grader of a class starts:
  std::string planned;     // the plan's folder
  std::size_t number = 0;  // of a submission
  std::string part;        // "2.7": of Slurm's arrays and tasks
  std::vector<std::string> submissions;
  bool verbose = false, no_color = false;
  std::string json, junit, html, markdown, gradescope, instructor;
  std::string hidden_visibility = "visible";
  bool annotations = false;
  unsigned jobs = processors();
  bool jobs_given = false;
  // GradeCommand that were given and are for these alone:
  std::vector<std::string> of_a_class, of_one, of_slurm;

  std::vector<std::string> reports() const {
    std::vector<std::string> paths{json, junit, html, markdown, gradescope, instructor};
    std::erase(paths, "");
    return paths;
  }

  bool report_on_output() const { return std::ranges::count(reports(), "-") > 0; }
};

/// Whether the runner of GitHub Actions reads what is printed.
bool runs_in_actions() {
  const char* actions = std::getenv("GITHUB_ACTIONS");
  return actions != nullptr && std::string_view(actions) == "true";
}

void check_reports(const GradeCommand& options) {
  const std::vector<std::string> paths = options.reports();
  if (std::ranges::count(paths, "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
  if (options.report_on_output() && options.annotations) {
    throw UsageError("standard output (-) holds one report only, and --annotations go there too");
  }
  // Their lines may begin with a submission's words.
  for (const auto& [name, path] :
       {std::pair<std::string, std::string>{"--markdown", options.markdown},
        {"--junit", options.junit}}) {
    if (path == "-" && runs_in_actions()) {
      throw UsageError(name +
                       " -: the runner of GitHub Actions would take a submission's words on "
                       "standard output for commands; name a file");
    }
  }
  for (const std::string& path : paths) require_writable(path);
}

/// As asked for; or where GitHub Actions reads standard output, and no report goes there.
bool wants_annotations(const GradeCommand& options) {
  if (options.annotations || !runs_in_actions()) return options.annotations;
  if (!options.report_on_output()) return true;
  std::fputs("prenorm: no annotations, as standard output holds a report\n", stderr);
  return false;
}

/// The text between lines that make the runner of GitHub Actions take nothing in it for a command,
/// which a submission's words could be. Nobody knows the word that ends this.
std::string without_commands(const std::string& text) {
  const std::string word = fmt::format("{:016x}{:016x}", fresh_seed(), fresh_seed());
  return "::stop-commands::" + word + "\n" + text + "::" + word + "::\n";
}

void write_reports(const GradeCommand& options, const Grading& grading) {
  const auto write = [](const std::string& path, const auto& text) {
    if (!path.empty()) write_text(path, text());
  };
  write(options.json, [&] { return grade_json(grading, false); });
  if (!options.instructor.empty()) write_private(options.instructor, grade_json(grading, true));
  write(options.junit, [&] { return grade_junit(grading); });
  write(options.html, [&] { return grade_html(grading); });
  write(options.markdown, [&] { return grade_markdown(grading); });
  write(options.gradescope, [&] { return grade_gradescope(grading, options.hidden_visibility); });
}

void print_table(const GradeCommand& options, const Grading& grading, bool annotations) {
  const std::string table =
      grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose);
  print(annotations || runs_in_actions() ? without_commands(table) : table);
  if (annotations) print(grade_annotations(grading));
}

int grade_one(GradeCommand options) {
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

  write_reports(options, grading);
  const bool annotations = wants_annotations(options);
  if (!options.report_on_output()) print_table(options, grading, annotations);
  // A script that gives points by this must not give those of cases that did not run.
  return exit_code(grading.results(true), true);
}

int grade(GradeCommand options) {
  // No other process of this user reads our memory, where the answers are.
  ::prctl(PR_SET_DUMPABLE, 0);
  ExecuteOptions& execute = options.many.execute;
  execute.jobs = options.jobs;
  if (execute.slurm && options.many.gradebook.empty()) {
    throw UsageError("--executor slurm needs --gradebook FILE, which keeps a class's results");
  }
  if (!options.planned.empty()) {
    if (options.part.empty()) return grade_number(options.planned, options.number);
    return grade_part(options.planned, options.part, execute, [](const std::string& line) {
      print(line + "\n");
      std::fflush(stdout);
    });
  }
  if (options.many.gradebook.empty() && !options.of_a_class.empty()) {
    throw UsageError(options.of_a_class.front() +
                     " is for a class: --gradebook FILE keeps its results");
  }
  if (!execute.slurm && !options.of_slurm.empty()) {
    throw UsageError(options.of_slurm.front() + " is for --executor slurm");
  }
  if (!options.many.gradebook.empty()) {
    if (!options.of_one.empty()) {
      throw UsageError(options.of_one.front() + " is for one submission, without --gradebook");
    }
    if (!options.reports().empty()) {
      throw UsageError("reports are of one submission; of a class: prenorm gradebook " +
                       options.many.gradebook + " --help");
    }
    // The login node's processors say nothing of a task's.
    if (execute.slurm && !options.jobs_given) execute.jobs = 1;
    return run_class(options.submissions, options.how, options.many);
  }
  if (options.submissions.empty()) throw UsageError("no submission: name its file or folder");
  if (options.submissions.size() > 1) {
    throw UsageError("several submissions need --gradebook FILE, which keeps their results");
  }
  return grade_one(std::move(options));
}

void add_limits(Arguments& command, GradeCommand& options) {
  command
      .add_option("--sandbox", options.how.sandbox,
                  "bubblewrap (default if it works), process or none")
      ->check(is_member({"bubblewrap", "process", "none"}))
      ->type_name("KIND");
  options.how.submission.python = usual_python();
  command
      .add_option("--python", options.how.submission.python,
                  "Interpreter for Python submissions: by default that of the active virtual\n"
                  "environment, or else the system's")
      ->capture_default_str()
      ->type_name("PATH");
  command
      .add_option("--timeout", options.how.submission.limits.seconds,
                  "Limit for one call (default: 10)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command
      .add_option("--build-timeout", options.how.submission.build_seconds,
                  "Limit for the build (default: 300)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command
      .add_option("--budget", options.how.exam.budget,
                  "Limit for all cases of one submission (default: 300, or 0.5 per case where\n"
                  "that is more); cases that have not run by then fail")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command
      .add_option("--memory", options.how.memory,
                  "Memory limit for all processes together (default: 4)")
      ->check(positive_seconds())
      ->type_name("GIB");
}

void add_reports(Arguments& command, GradeCommand& options) {
  const auto add = [&command](const char* name, std::string& path, const char* what) {
    command.add_option(name, path, what)->type_name("FILE");
  };
  add("--json", options.json, "Write a JSON report (-: to standard output)");
  add("--junit", options.junit, "Write a JUnit XML report");
  add("--html", options.html, "Write an HTML report");
  add("--markdown", options.markdown, "Write a Markdown summary (\"$GITHUB_STEP_SUMMARY\")");
  add("--gradescope", options.gradescope, "Write Gradescope's results.json");
  add_hidden_visibility(command, options.hidden_visibility);
  command.add_flag("--annotations", options.annotations,
                   "Print failing problems as GitHub Actions errors (default: in GitHub Actions)");
  add("--instructor", options.instructor,
      "JSON with the seed and the results of hidden cases: not for students");
}

}  // namespace

void add_hidden_visibility(Arguments& command, std::string& visibility) {
  command
      .add_option("--hidden-visibility", visibility,
                  "When Gradescope shows hidden groups: visible (default), after_due_date or\n"
                  "after_published; they always count in the total")
      ->check(is_member({"visible", "after_due_date", "after_published"}))
      ->type_name("WHEN");
}

void add_grade(Arguments& app, Action& chosen) {
  auto options = std::make_shared<GradeCommand>();
  Arguments& command = *app.add_subcommand("grade", "Run submissions in a sandbox and score them");
  command
      .add_option("SUBMISSION", options->submissions,
                  "A CMake project's folder, CUDA sources (one, or their folder), a library,\n"
                  "adapters.py or its folder, or outputs")
      ->type_name("");
  command
      .add_option("--rubric", options->how.rubric,
                  "A shipped rubric or a .toml file (default: cs336-2025)")
      ->type_name("NAME|FILE");
  add_limits(command, *options);
  command
      .add_option(
          "--seed", options->how.seed,
          "Seed of the hidden cases. Random by default.\nNever reuse a seed that students may know")
      ->check(whole_number())
      ->type_name("N");
  command.add_flag("--emulate", options->how.submission.emulate,
                   "Run CUDA in the emulator, even if there is a device");
  command.add_flag_callback(
      "--no-hidden", [options] { options->how.exam.hidden = false; }, "Skip hidden cases");
  command.add_flag_callback(
      "--quick", [options] { options->how.exam.quick = true; },
      "Explain only the first problem with wrong numbers");
  add_selection_options(command, options->how.exam.selection);
  add_jobs_option(command, options->jobs);
  command.get_option("--jobs")->description(
      "Problems, or a class's submissions, to grade in parallel");
  ClassOptions& many = options->many;
  command
      .add_option("--gradebook", many.gradebook,
                  "Grade a class: keep all results in this SQLite file")
      ->type_name("FILE");
  command.add_flag("--regrade", many.regrade, "Regrade unchanged submissions too");
  command
      .add_option("--retries", many.execute.retries,
                  "Attempts after a grader has crashed (default: 2)")
      ->check(whole_number())
      ->type_name("N");
  command
      .add_option("--roster", many.roster,
                  "CSV file of students: columns submission, name, id, email; or an export of\n"
                  "Canvas, Moodle or Gradescope")
      ->type_name("FILE");
  command
      .add_option("--work", many.work,
                  "Folder for unfinished work (default: next to the gradebook)")
      ->type_name("FOLDER");
  command
      .add_option("--executor", options->executor,
                  "local (default), or slurm: grade in Slurm array jobs")
      ->check(is_member({"local", "slurm"}))
      ->type_name("KIND");
  add_repeatable(command, "--slurm-option", many.execute.slurm_options,
                 "Option for sbatch, as in --slurm-option=--partition=short")
      ->type_name("OPTION");
  command
      .add_option("--batch", many.execute.batch,
                  "Submissions per Slurm task (default: depends on their number)")
      ->check(whole_number())
      ->type_name("N");
  // What the graders of a class are started with.
  command.add_option("--planned", options->planned)->hidden();
  command.add_option("--number", options->number)->hidden();
  command.add_option("--part", options->part)->hidden();
  add_reports(command, *options);
  command.add_flag("--verbose", options->verbose, "Print every failing case");
  command.add_flag("--no-color", options->no_color, "Disable colours, like NO_COLOR=1");
  command.footer(
      "A group of cases earns its share of an item's points if all of them pass. Hidden cases "
      "have\n"
      "other values and sizes than the shipped ones; reports show only their status.\n\n"
      "Examples:\n"
      "  prenorm grade ./alice                                    by the course's points\n"
      "  prenorm grade ./alice/build/libalice.so --rubric all     every problem and element type\n"
      "  prenorm grade ./alice --html report.html --instructor secret.json\n"
      "  prenorm grade ./alice --problem 'ffn_*' --no-hidden      some of it, quickly\n\n"
      "Exit code: 0 all passed, 1 something failed or was skipped, 2 an invalid option or file,\n"
      "3 nothing ran");
  command.callback([options, &command, &chosen] {
    options->many.execute.slurm = options->executor == "slurm";
    options->jobs_given = command.get_option("--jobs")->count() > 0;
    for (const char* name : {"--regrade", "--roster", "--work", "--batch", "--retries"}) {
      if (command.get_option(name)->count() > 0) options->of_a_class.emplace_back(name);
    }
    for (const char* name : {"--batch", "--slurm-option"}) {
      if (command.get_option(name)->count() > 0) options->of_slurm.emplace_back(name);
    }
    for (const char* name : {"--hidden-visibility", "--annotations", "--quick"}) {
      if (command.get_option(name)->count() > 0) options->of_one.emplace_back(name);
    }
    for (const char* name :
         {"--sandbox", "--python", "--timeout", "--build-timeout", "--budget", "--memory"}) {
      if (command.get_option(name)->count() > 0) options->many.typed.emplace_back(name);
    }
    chosen = [options] { return grade(*options); };
  });
}

}  // namespace prenorm::harness
