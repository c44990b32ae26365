#include "base/files.hpp"
#include "base/parallel.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "class/class_run.hpp"
#include "cli/commands.hpp"
#include "grade/grader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

struct GradeArguments {
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
  std::set<std::string> given;

  std::vector<std::string> reports() const {
    std::vector<std::string> paths{json, junit, html, markdown, gradescope, instructor};
    std::erase(paths, "");
    return paths;
  }

  bool report_on_output() const { return std::ranges::count(reports(), "-") > 0; }

  /// Of these options the first that was given; empty where none was.
  std::string first_given(const std::vector<std::string>& options) const {
    const auto found = std::ranges::find_if(
        options, [this](const std::string& each) { return given.contains(each); });
    return found == options.end() ? "" : *found;
  }
};

/// Whether the runner of GitHub Actions reads what is printed.
bool runs_in_actions() {
  const char* actions = std::getenv("GITHUB_ACTIONS");
  return actions != nullptr && std::string_view(actions) == "true";
}

void check_reports(const GradeArguments& options) {
  const std::vector<std::string> paths = options.reports();
  require_one_on_output(paths);
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
bool wants_annotations(const GradeArguments& options) {
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

void write_reports(const GradeArguments& options, const Grading& grading) {
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

void print_table(const GradeArguments& options, const Grading& grading, bool annotations) {
  const std::string table =
      grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose);
  print(annotations || runs_in_actions() ? without_commands(table) : table);
  if (annotations) print(grade_annotations(grading));
}

int grade_one(GradeArguments options) {
  check_reports(options);
  Progress progress;
  Grader grader(options.how, options.jobs,
                [&progress](const std::string& what, std::size_t done, std::size_t total) {
                  progress.show(total == 0 ? what : fmt::format("[{}/{}] {}", done, total, what));
                });
  const Grading grading = as_usage([&] { return grader.grade(options.submissions.front()); });
  progress.clear();

  write_reports(options, grading);
  const bool annotations = wants_annotations(options);
  if (!options.report_on_output()) {
    // Not in the reports, which are for students.
    if (!grader.note().empty()) print("note: " + printable(grader.note()) + "\n");
    print_table(options, grading, annotations);
  }
  // A script that gives points by this must not give those of cases that did not run.
  return exit_code(grading.results(true), true);
}

// --- a class ----------------------------------------------------------------------------------

std::string progress_line(const ClassState& state) {
  constexpr std::size_t width = 20;
  const std::size_t done = state.finished();
  const std::size_t filled = state.todo == 0 ? width : width * done / state.todo;
  std::string text = fmt::format("[{:-<{}}] {}/{}, {} with failures", std::string(filled, '#'),
                                 width, done, state.todo, state.with_failures);
  if (!state.failures.empty()) text += fmt::format(", {} not graded", state.failures.size());
  if (done > state.at_begin && done < state.todo) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - state.begun;
    const double left = since.count() / static_cast<double>(done - state.at_begin) *
                        static_cast<double>(state.todo - done);
    text += fmt::format(", about {} left", left < 90 ? fmt::format("{:.0f} s", left)
                                                     : fmt::format("{:.0f} min", left / 60));
  }
  return text;
}

int conclude(const ClassResult& result, const std::string& gradebook) {
  const ClassState& state = result.state;
  print(fmt::format("{}: {} graded, {} unchanged, {} not graded\n",
                    counted(state.submissions, "submission"), state.graded,
                    state.submissions - state.todo, state.failures.size()));
  for (const auto& [name, why] : state.failures) {
    print("not graded: " + printable(name + ": " + why) + "\n");
  }
  if (!state.failures.empty()) print("the same command tries these again\n");
  if (!result.not_whole.empty()) {
    print(fmt::format("not graded whole: {}; go on with the same command and --budget {}\n",
                      printable(joined(result.not_whole), 2000), result.larger_budget));
  }
  print("table and reports: prenorm gradebook " + shell_word(gradebook) + "\n");
  if (!state.failures.empty()) return 2;
  if (!result.passed && !result.failed) return 3;  // as exit_code() of one submission
  return result.failed || result.skipped ? 1 : 0;
}

/// Grades into the gradebook, with progress on standard error and a summary on standard output.
int run_class(const std::vector<std::string>& submissions, const GradeSettings& settings,
              const ClassOptions& options) {
  Progress progress;
  ClassEvents events;
  events.progress = [&](const ClassState& state) { progress.show(progress_line(state)); };
  // A terminal shows the progress line; a log gets one line for each.
  events.done = [&](const ClassState& state, const std::string& line) {
    if (::isatty(STDERR_FILENO) == 1) {
      events.progress(state);
    } else {
      fmt::print(stderr, "[{}/{}] {}\n", state.finished(), state.todo, printable(line, 300));
    }
  };
  events.say = [&](const std::string& line) {
    progress.clear();
    fmt::print(stderr, "prenorm: {}\n", printable(line, 1000));
  };
  const ClassResult result = grade_class(submissions, settings, options, events);
  progress.clear();
  return conclude(result, options.gradebook);
}

// --- the command ------------------------------------------------------------------------------

int grade(GradeArguments options) {
  // No other process of this user reads our memory, where the answers are.
  ::prctl(PR_SET_DUMPABLE, 0);
  ExecuteOptions& execute = options.many.execute;
  execute.jobs = options.jobs;
  execute.slurm = options.executor == "slurm";
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
  const bool is_class = !options.many.gradebook.empty();
  const std::string of_a_class = options.first_given(
      {"--regrade", "--roster", "--work", "--batch", "--retries", "--file-wait"});
  const std::string of_slurm = options.first_given({"--batch", "--slurm-option", "--file-wait"});
  const std::string of_one =
      options.first_given({"--hidden-visibility", "--annotations", "--quick"});
  if (!is_class && !of_a_class.empty()) {
    throw UsageError(of_a_class + " is for a class: --gradebook FILE keeps its results");
  }
  if (!execute.slurm && !of_slurm.empty()) throw UsageError(of_slurm + " is for --executor slurm");
  if (is_class) {
    if (!of_one.empty()) {
      throw UsageError(of_one + " is for one submission, without --gradebook");
    }
    if (!options.reports().empty()) {
      throw UsageError("reports are of one submission; of a class: prenorm gradebook " +
                       options.many.gradebook + " --help");
    }
    // The login node's processors say nothing of a task's.
    if (execute.slurm && !options.given.contains("--jobs")) execute.jobs = 1;
    for (const GradeSetting& setting : grade_settings()) {
      const bool typed = setting.kept_for_class && options.given.contains(setting.option);
      if (typed) options.many.typed.emplace_back(setting.option);
    }
    return run_class(options.submissions, options.how, options.many);
  }
  if (options.submissions.empty()) throw UsageError("no submission: name its file or folder");
  if (options.submissions.size() > 1) {
    throw UsageError("several submissions need --gradebook FILE, which keeps their results");
  }
  return grade_one(std::move(options));
}

/// How submissions are graded: options with a value, then flags.
Option setting_options(GradeSettings& how) {
  how.python = usual_python();
  std::vector<Option> rows;
  for (const bool flags : {false, true}) {
    for (const GradeSetting& setting : grade_settings()) {
      if (setting.is_flag() == flags) rows.push_back(setting_option(setting.option, how));
    }
  }
  return rows;
}

Option class_options(GradeArguments& o) {
  ClassOptions& many = o.many;
  return std::vector<Option>{
      {"--gradebook FILE", many.gradebook, "Grade a class: keep all results in this SQLite file"},
      {"--regrade", many.regrade, "Regrade unchanged submissions too"},
      {"--retries N", many.execute.retries, "Attempts after a grader has crashed (default: 2)",
       whole_number},
      {"--roster FILE", many.roster,
       "CSV file of students: columns submission, name, id, email; or an export of\n"
       "Canvas, Moodle or Gradescope"},
      {"--work FOLDER", many.work, "Folder for unfinished work (default: next to the gradebook)"},
      {"--executor", o.executor, "local (default), or slurm: grade in Slurm array jobs",
       OneOf{"local", "slurm"}},
      {"--slurm-option OPTION", many.execute.slurm_options,
       "Option for sbatch, as in --slurm-option=--partition=short"},
      {"--batch N", many.execute.batch,
       "Submissions per Slurm task (default: depends on their number)", whole_number},
      {"--file-wait SECONDS", many.execute.seconds_until_seen,
       "How long after its task of Slurm has ended a result may become visible here, on\n"
       "a file system that all nodes see (default: 60)",
       Check(positive)},
      // What the graders of a class are started with.
      {"--planned", o.planned, "", Trait::hidden},
      {"--number", o.number, "", Trait::hidden},
      {"--part", o.part, "", Trait::hidden}};
}

Option report_options(GradeArguments& o) {
  return std::vector<Option>{
      json_option(o.json),
      {"--junit FILE", o.junit, "Write a JUnit XML report"},
      {"--html FILE", o.html, "Write an HTML report"},
      {"--markdown FILE", o.markdown, "Write a Markdown summary (\"$GITHUB_STEP_SUMMARY\")"},
      {"--gradescope FILE", o.gradescope, "Write Gradescope's results.json"},
      hidden_visibility_option(o.hidden_visibility),
      {"--annotations", o.annotations,
       "Print failing problems as GitHub Actions errors (default: in GitHub Actions)"},
      {"--instructor FILE", o.instructor,
       "JSON with the seed and the results of hidden cases: not for students"}};
}

}  // namespace

Option setting_option(std::string_view name, GradeSettings& how) {
  using Takes = GradeSetting::Takes;
  const GradeSetting& setting = grade_setting(name);
  const std::string option = setting.option + std::string(setting.is_flag() ? "" : " ");
  Option row = std::visit(
      [&](auto place) { return Option(option + setting.type, how.*place, setting.help); },
      setting.place);
  switch (setting.takes) {
    case Takes::any: break;
    case Takes::sandbox: row.rules = {OneOf{"bubblewrap", "process", "none"}}; break;
    case Takes::interpreter: row.rules = {Trait::shows_default}; break;
    case Takes::positive: row.rules = {Check(positive)}; break;
    case Takes::whole: row.rules = {Check(whole_number)}; break;
  }
  return row;
}

Option hidden_visibility_option(std::string& visibility) {
  return {"--hidden-visibility", visibility,
          "When Gradescope shows hidden groups (default: visible); they always count in the total",
          OneOf{"visible", "after_due_date", "after_published"}};
}

Command grade_command() {
  const auto options = std::make_shared<GradeArguments>();
  GradeArguments& o = *options;
  return {
      .name = "grade",
      .description = "Run submissions in a sandbox and score them",
      .options = {{"SUBMISSION", o.submissions,
                   "A CMake project's folder, CUDA sources (one, or their folder), a library,\n"
                   "adapters.py or its folder, or outputs"},
                  setting_options(o.how),
                  selection_options(o.how.selection),
                  jobs_option(o.jobs, "Problems, or a class's submissions, to grade in parallel"),
                  class_options(o),
                  report_options(o),
                  {"--verbose", o.verbose, "Print every failing case"},
                  no_color_option(o.no_color)},
      .footer =
          R"(A group of cases earns its share of an item's points if all of them pass. Hidden cases have
other values and sizes than the shipped ones; reports show only their status.

Examples:
  prenorm grade ./alice                                    by the course's points
  prenorm grade ./alice/build/libalice.so --rubric all     every problem and element type
  prenorm grade ./alice --html report.html --instructor secret.json
  prenorm grade ./alice --problem 'ffn_*' --no-hidden      some of it, quickly

Exit code: 0 all passed, 1 something failed or was skipped, 2 an invalid option or file,
3 nothing ran)",
      .run = [options] { return grade(*options); },
      .given = &o.given};
}

}  // namespace prenorm::harness
