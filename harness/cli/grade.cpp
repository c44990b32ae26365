#include "cli/command.hpp"
#include "cli/parallel.hpp"
#include "cli/runner.hpp"
#include "cli/terminal.hpp"
#include "grade/exam.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/prctl.h>
#include <unistd.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string submission, rubric = "cs336-2025", sandbox;
  fs::path python = SubmissionOptions{}.python;
  std::optional<std::uint64_t> seed;
  bool no_hidden = false, verbose = false, no_color = false;
  Selection selection;
  std::string json, junit, html, markdown, gradescope, instructor;
  std::string hidden_visibility = "visible";
  bool annotations = false;
  double timeout = SubmissionOptions{}.limits.seconds;
  double build_timeout = SubmissionOptions{}.build_seconds;
  double memory = 4;  // GiB
  unsigned jobs = processors();

  std::vector<std::string> reports() const {
    std::vector<std::string> paths{json, junit, html, markdown, gradescope, instructor};
    std::erase(paths, "");
    return paths;
  }
  bool report_on_output() const { return std::ranges::count(reports(), "-") > 0; }

  /// What a line that repeats a case begins with.
  std::string repeat() const {
    std::vector<std::string> words{program_name(), "grade", submission};
    const auto add = [&words](const std::string& option, const std::string& value) {
      words.insert(words.end(), {option, value});
    };
    if (rubric != Options{}.rubric) add("--rubric", rubric);
    if (!sandbox.empty()) add("--sandbox", sandbox);
    if (python != Options{}.python) add("--python", python.string());
    if (timeout != Options{}.timeout) add("--timeout", fmt::format("{}", timeout));
    if (memory != Options{}.memory) add("--memory", fmt::format("{}", memory));
    for (const std::string& path : selection.fixtures) add("--fixtures", path);
    return shell_line(words);
  }
};

/// A secret that nobody chose.
std::uint64_t fresh_seed() {
  std::random_device system;
  return (std::uint64_t{system()} << 32) | system();
}

/// The sandbox that was typed, or the best that works here; `note` says where that is not the best
/// there is.
SandboxKind choose_sandbox(const std::string& word, std::string& note) {
  for (const SandboxKind kind :
       {SandboxKind::none, SandboxKind::process, SandboxKind::bubblewrap}) {
    if (word != name(kind)) continue;
    if (const auto why = unavailable(kind)) {
      throw UsageError("--sandbox " + word + " does not work here: " + *why);
    }
    if (kind == SandboxKind::none) note = "no sandbox: the submission could do what it liked";
    return kind;
  }
  const auto no_namespaces = unavailable(SandboxKind::bubblewrap);
  if (!no_namespaces) return SandboxKind::bubblewrap;
  if (const auto why = unavailable(SandboxKind::process)) {
    throw UsageError("no sandbox works here: bubblewrap: " + *no_namespaces + "; process: " + *why +
                     " (--sandbox none runs without one)");
  }
  note = "sandbox: process, as bubblewrap does not work here: " + *no_namespaces;
  return SandboxKind::process;
}

void check_reports(const Options& options) {
  const std::vector<std::string> paths = options.reports();
  if (std::ranges::count(paths, "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
  if (options.report_on_output() && options.annotations) {
    throw UsageError("standard output (-) holds one report only, and --annotations go there too");
  }
  for (const std::string& path : paths) require_writable(path);
}

/// Whether the runner of GitHub Actions reads what is printed.
bool runs_in_actions() {
  const char* actions = std::getenv("GITHUB_ACTIONS");
  return actions != nullptr && std::string_view(actions) == "true";
}

/// As asked for; or where GitHub Actions reads standard output, and no report goes there.
bool wants_annotations(const Options& options) {
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

void write_reports(const Options& options, const Grading& grading) {
  const auto write = [](const std::string& path, const auto& text) {
    if (!path.empty()) write_text(path, text());
  };
  write(options.json, [&] { return grade_json(grading, false); });
  write(options.instructor, [&] { return grade_json(grading, true); });
  write(options.junit, [&] { return grade_junit(grading); });
  write(options.html, [&] { return grade_html(grading); });
  write(options.markdown, [&] { return grade_markdown(grading); });
  write(options.gradescope, [&] { return grade_gradescope(grading, options.hidden_visibility); });
}

void print_table(const Options& options, const Grading& grading, bool annotations) {
  const std::string table =
      grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose);
  print(annotations || runs_in_actions() ? without_commands(table) : table);
  if (annotations) print(grade_annotations(grading));
}

/// The program of that name, or at that path.
fs::path find_program(const fs::path& name) {
  std::vector<fs::path> candidates{fs::absolute(name)};
  if (!name.has_parent_path()) {
    candidates.clear();
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      candidates.push_back(fs::absolute(folder) / name);
    }
  }
  for (const fs::path& candidate : candidates) {
    if (::access(candidate.c_str(), X_OK) != 0 || fs::is_directory(candidate)) continue;
    std::array<char, 2> first{};
    std::ifstream(candidate).read(first.data(), first.size());
    if (first == std::array{'#', '!'}) {  // what it would run is not there in the sandbox
      throw UsageError("--python " + candidate.string() +
                       " is a script; wanted the interpreter itself, or that of an environment");
    }
    return candidate;
  }
  throw UsageError("--python " + name.string() + ": no such program");
}

Rubric rubric_of(const Options& options) {
  try {
    return read_rubric(options.rubric);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

Adapters adapters_of(const Rubric& rubric, const Exam& exam) {
  if (rubric.adapters.empty()) return {};
  return {rubric.path.parent_path() / rubric.adapters, exam.signatures()};
}

/// Fixtures and solutions lie where a submission does not look.
SubmissionOptions submission_options(const Options& options, const Exam& exam, SandboxKind kind) {
  SubmissionOptions result;
  result.sandbox = kind;
  result.limits.seconds = options.timeout;
  result.build_seconds = options.build_timeout;
  result.memory = static_cast<std::size_t>(options.memory * 0x1p30);
  result.python = options.python;
  for (const File& file : exam.files)
    result.hidden.push_back(fs::absolute(file.path).parent_path());
  std::ranges::sort(result.hidden);
  const auto same = std::ranges::unique(result.hidden);
  result.hidden.erase(same.begin(), same.end());
  return result;
}

int grade(Options options) {
  // No other process of this user reads our memory, where the answers are.
  ::prctl(PR_SET_DUMPABLE, 0);
  check_reports(options);
  std::string note;
  const SandboxKind kind = choose_sandbox(options.sandbox, note);
  const Rubric rubric = rubric_of(options);
  if (options.python != Options{}.python) options.python = find_program(options.python);
  Progress progress;
  GradeOptions how;
  how.seed = options.seed.value_or(fresh_seed());
  how.hidden = !options.no_hidden;
  how.selection = options.selection;
  how.jobs = options.jobs;
  how.repeat = options.repeat();
  how.progress = [&progress](const std::string& what, std::size_t done, std::size_t total) {
    progress.show(fmt::format("[{}/{}] {}", done, total, what));
  };
  const Exam exam = make_exam(rubric, how);
  progress.show("making " + options.submission + " ready");
  std::unique_ptr<Submission> submission;
  try {
    submission = std::make_unique<Submission>(
        options.submission, submission_options(options, exam, kind), adapters_of(rubric, exam));
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  Grading grading = grade(*submission, exam);
  grading.sandbox = name(kind);
  if (!note.empty()) grading.notes.insert(grading.notes.begin(), note);
  progress.clear();

  write_reports(options, grading);
  const bool annotations = wants_annotations(options);
  if (!options.report_on_output()) print_table(options, grading, annotations);
  return exit_code(grading.results(true), true);
}

void add_limits(CLI::App& command, Options& options) {
  command
      .add_option("--sandbox", options.sandbox,
                  "bubblewrap (default where it works), process, or none")
      ->check(CLI::IsMember({"bubblewrap", "process", "none"}).description(""))
      ->type_name("KIND");
  command.add_option("--python", options.python, "The interpreter for Python submissions")
      ->capture_default_str()
      ->type_name("PATH");
  command.add_option("--timeout", options.timeout, "For one call (default: 10)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command.add_option("--build-timeout", options.build_timeout, "For building it (default: 300)")
      ->check(positive_seconds())
      ->type_name("SECONDS");
  command.add_option("--memory", options.memory, "For all of its processes together (default: 4)")
      ->check(positive_seconds())
      ->type_name("GIB");
}

void add_reports(CLI::App& command, Options& options) {
  const auto add = [&command](const char* name, std::string& path, const char* what) {
    command.add_option(name, path, what)->type_name("FILE");
  };
  add("--json", options.json, "Write a report (-: to standard output)");
  add("--junit", options.junit, "The same in JUnit's XML");
  add("--html", options.html, "The same as a page");
  add("--markdown", options.markdown, "A summary for a job (\"$GITHUB_STEP_SUMMARY\")");
  add("--gradescope", options.gradescope, "Gradescope's results.json");
  add_hidden_visibility(command, options.hidden_visibility);
  command.add_flag("--annotations", options.annotations,
                   "Failing problems as errors of GitHub Actions (where that runs, by itself)");
  add("--instructor", options.instructor,
      "JSON with the seed and what hidden cases gave: not for students");
}

}  // namespace

void add_hidden_visibility(CLI::App& command, std::string& visibility) {
  command
      .add_option("--hidden-visibility", visibility,
                  "Hidden groups are visible (default), after_due_date, after_published, hidden")
      ->check(
          CLI::IsMember({"visible", "after_due_date", "after_published", "hidden"}).description(""))
      ->type_name("WHEN");
}

void add_grade(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("grade", "Run somebody's work, isolated, and score it");
  command
      .add_option(
          "SUBMISSION", options->submission,
          "A folder with a CMakeLists.txt, a library, adapters.py or its folder, or outputs")
      ->required();
  command.add_option("--rubric", options->rubric, "A shipped one, or a file (x.toml)")
      ->capture_default_str()
      ->type_name("NAME|FILE");
  add_limits(command, *options);
  command
      .add_option("--seed", options->seed,
                  "Draws the hidden cases (default: a fresh secret; used twice it is none)")
      ->check(whole_number())
      ->type_name("N");
  command.add_flag("--no-hidden", options->no_hidden, "Leave hidden cases out");
  add_selection_options(command, options->selection);
  add_jobs_option(command, options->jobs);
  add_reports(command, *options);
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
  command.callback([options, &chosen] { chosen = [options] { return grade(*options); }; });
}

}  // namespace prenorm::harness
