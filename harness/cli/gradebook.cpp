// `prenorm gradebook`: what came of a class. Its changes are in gradebook_change.cpp, what it hands
// out in gradebook_export.cpp.
#include "cli/gradebook.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "class/times.hpp"
#include "cli/command.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace prenorm::harness {
namespace {

int show_student(const Gradebook& book, const GradebookOptions& options) {
  const std::string name = find_student(book, options.student);
  const auto entries = book.entries();
  const auto entry = entries.find(name);
  if (entry == entries.end()) throw UsageError(name + ": nothing was handed in");
  if (entry->second.files.empty()) {
    throw UsageError(name + ": is not graded: " + entry->second.failure);
  }
  const Grading grading = seen(book, name);
  const auto write = [&options](const std::string& path, const auto& text) {
    if (path.empty()) return;
    write_text(path, text());
    say_written(path, options);
  };
  write(options.json, [&] { return grade_json(grading, false); });
  if (!options.instructor.empty()) make_private(options.instructor);
  write(options.instructor, [&] { return grade_json(grading, true); });
  write(options.junit, [&] { return grade_junit(grading); });
  write(options.html, [&] { return grade_html(grading); });
  if (options.reports().empty()) {
    print(grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose));
  }
  return 0;
}

void write_json(const Overview& class_, const Gradebook& book, const std::string& path) {
  if (path == "-") return class_json(class_, book, print);
  make_private(path);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  class_json(class_, book, [&file](const std::string& text) { file << text; });
  file.close();
  if (!file) throw UsageError("cannot write " + path + ": " + std::strerror(errno));
}

int show_class(const Gradebook& book, const GradebookOptions& options) {
  Overview class_ = overview(book);
  if (!options.deadline.empty()) {
    class_.deadline = deadline_of(options.deadline);
    if (!class_.deadline) {
      throw UsageError(
          "--deadline '" + options.deadline +
          "': wanted a time like 2026-10-05, 2026-10-05T23:59 or 2026-10-05T23:59+02:00");
    }
  }
  if (!options.feedback.empty()) hand_out(book, options, class_);
  if (!options.csv.empty()) write_text(options.csv, class_csv(class_));
  if (!options.html.empty()) write_text(options.html, class_html(class_));
  if (!options.json.empty()) write_json(class_, book, options.json);
  for (const std::string& path : {options.csv, options.html, options.json}) {
    if (!path.empty()) say_written(path, options);
  }
  const int code = options.fill.empty() ? 0 : fill_export(options, class_);
  const bool table = options.reports().empty() && options.feedback.empty() && !options.summary;
  const bool colour = wants_colour(options.no_color);
  if (table) print(class_table(class_, colour, terminal_width()));
  if (table || (options.summary && !options.report_on_output())) {
    print(class_summary(class_, colour, terminal_width()));
  }
  return code;
}

/// The options of these that were given: those of one student, or of the whole class.
std::vector<std::string> given(
    const std::vector<std::pair<std::string, const std::string*>>& options) {
  std::vector<std::string> names;
  for (const auto& [name, value] : options) {
    if (!value->empty()) names.push_back(name);
  }
  return names;
}

/// Throws UsageError for options that do not go together.
void check(const GradebookOptions& options) {
  if (std::ranges::count(options.reports(), "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
  if (options.fill.empty() != options.out.empty()) {
    throw UsageError("--fill EXPORT and --out FILE go together: grades are written into a copy");
  }
  if (options.fill.empty() && !options.column.empty()) {
    throw UsageError("--column is for --fill EXPORT");
  }
  if (!options.feedback.empty()) {
    std::vector<std::string> others = given({{"--csv", &options.csv},
                                             {"--json", &options.json},
                                             {"--junit", &options.junit},
                                             {"--instructor", &options.instructor},
                                             {"--student", &options.student},
                                             {"--fill", &options.fill}});
    if (options.summary) others.emplace_back("--summary");
    if (!others.empty()) {
      throw UsageError(
          "--feedback writes everybody's pages and nothing else but --html, which "
          "links them; without it: " +
          joined(others));
    }
  }
  const std::vector<std::string> of_class = given(
      {{"--csv", &options.csv}, {"--deadline", &options.deadline}, {"--fill", &options.fill}});
  if (!options.student.empty() && (options.summary || !of_class.empty())) {
    throw UsageError((options.summary ? "--summary" : of_class.front()) +
                     " is of the whole class, without --student");
  }
  const std::vector<std::string> of_student =
      given({{"--junit", &options.junit}, {"--instructor", &options.instructor}});
  if (options.student.empty() && !of_student.empty()) {
    throw UsageError("--junit and --instructor are of one student: --student NAME");
  }
}

int show(const GradebookOptions& options) {
  check(options);
  const Gradebook book(options.file, Gradebook::Access::read);
  for (const std::string& path : options.reports()) require_writable(path);
  return options.student.empty() ? show_class(book, options) : show_student(book, options);
}

void add_reports(Arguments& command, GradebookOptions& options) {
  const auto add = [&command](const char* name, std::string& path, const char* what) {
    command.add_option(name, path, what)->type_name("FILE");
  };
  command.add_flag("--summary", options.summary,
                   "Show statistics per problem only, without the table");
  command.add_option("--student", options.student, "Show one student's report: see NAME below")
      ->type_name("NAME");
  add("--csv", options.csv, "Write a CSV file, one row per student (-: to standard output)");
  add("--json", options.json,
      "Write all results, hidden cases too: not for students.\nWith --student: the student's "
      "report");
  add("--html", options.html,
      "Write the class's results as one page. With --student: the student's page.\nWith "
      "--feedback: rows link to the students' pages");
  add("--junit", options.junit, "Write the student's cases as JUnit XML");
  add("--instructor", options.instructor,
      "With --student: JSON with the seed and hidden results: not for students");
  command
      .add_option("--feedback", options.feedback,
                  "Write one page per student, with only what the student may see")
      ->type_name("FOLDER");
  command
      .add_option("--deadline", options.deadline,
                  "Add a column of days late, as in 2026-10-05T23:59 (up to that minute's end)\n"
                  "or 2026-10-05 (that day's end).\n"
                  "Points stay. Times are the roster's, or else those of the files as they were\n"
                  "graded")
      ->type_name("TIME");
  command
      .add_option("--fill", options.fill,
                  "Write totals into a copy of what Canvas, Moodle or Gradescope exports;\n"
                  "students are found by id, login or e-mail address")
      ->type_name("EXPORT");
  command
      .add_option("--column", options.column,
                  "With --fill: the column for the totals, as \"Assignment 1 (12345)\"")
      ->type_name("NAME");
  add("--out", options.out, "With --fill: the copy");
  command.add_flag("--verbose", options.verbose, "With --student: print every failing case");
  command.add_flag("--no-color", options.no_color, "Disable colours, like NO_COLOR=1");
}

void add_commands(Arguments& command, const std::shared_ptr<GradebookOptions>& options,
                  Action& chosen) {
  const auto add = [&](const char* name, const char* what, int (*run)(const GradebookOptions&)) {
    Arguments& made = *command.add_subcommand(name, what);
    made.callback([options, &chosen, run] { chosen = [options, run] { return run(*options); }; });
    return &made;
  };
  const auto add_name = [&options](Arguments& to) {
    to.add_option("NAME", options->name, "The student")->required()->type_name("");
  };
  const auto add_what = [&](Arguments& to) {
    add_name(to);
    to.add_option("PROBLEM", options->problem, "An item of the rubric, or one of its problems")
        ->required()
        ->type_name("");
  };
  Arguments& set = *add("set", "Set a student's points by hand", set_points);
  add_what(set);
  set.add_option("POINTS", options->points, "0 or more")->required()->type_name("");
  set.add_option("--why", options->why, "The reason, shown to the student")
      ->required()
      ->type_name("TEXT");
  add_what(*add("unset", "Restore the graded points", unset_points));
  Arguments& roster = *add("roster", "Store the names of the course's students", keep_roster);
  roster
      .add_option("ROSTER", options->roster,
                  "CSV with columns submission (the name of a file or folder), name, id, email,\n"
                  "submitted; or an export of Canvas, Moodle or Gradescope")
      ->required()
      ->type_name("");
  add_name(*add("remove", "Remove a submission and the points set for it", remove_submission));
  Arguments& similar = *add("similar", "List submissions whose sources are alike", list_similar);
  similar.add_option("--share", options->share, "Least share of code in per cent (default: 50)")
      ->check(in_range(0, 100))
      ->type_name("PERCENT");
  add_repeatable(similar, "--given", options->given_out,
                 "Code that everybody was given: does not count")
      ->type_name("PATH");
  similar.footer(
      "Sources are compared without names, numbers, comments and white space. What more than half\n"
      "of the class has does not count either. Files are read where they were graded: run this in\n"
      "the same folder. The list is not a verdict: read both.");
}

}  // namespace

std::vector<std::string> GradebookOptions::reports() const {
  std::vector<std::string> paths{csv, json, junit, html, instructor, out};
  std::erase(paths, "");
  return paths;
}

bool GradebookOptions::report_on_output() const { return std::ranges::count(reports(), "-") > 0; }

void say_written(const std::string& path, const GradebookOptions& options) {
  if (path == "-") return;
  const std::string line = "wrote " + printable(path) + "\n";
  options.report_on_output() ? fmt::print(stderr, "{}", line) : print(line);
}

void add_gradebook(Arguments& app, Action& chosen) {
  auto options = std::make_shared<GradebookOptions>();
  Arguments& command = *app.add_subcommand("gradebook", "Show or export a class's results");
  command
      .add_option("FILE", options->file, "A gradebook, made by prenorm grade ... --gradebook FILE")
      ->capture_default_str()
      ->type_name("");
  add_reports(command, *options);
  command.require_subcommand(0, 1);
  command.footer(
      "NAME is that of the submission's file or folder; or a student's name, id or e-mail address\n"
      "in the roster. Points that are set by hand belong to a submission: students who handed it "
      "in\n"
      "together share them. They stay when the class is graded again.\n\n"
      "Examples:\n"
      "  prenorm gradebook grades.sqlite                       the table, and how problems went\n"
      "  prenorm gradebook grades.sqlite --csv grades.csv      for a spreadsheet\n"
      "  prenorm gradebook grades.sqlite --student alice --html alice.html\n"
      "  prenorm gradebook grades.sqlite --feedback pages      one page per student\n"
      "  prenorm gradebook grades.sqlite --fill canvas.csv --column 'Homework 2 (12345)' "
      "--out filled.csv\n"
      "  prenorm gradebook grades.sqlite set alice PROBLEM 2 --why 'appeal'\n"
      "  prenorm gradebook grades.sqlite roster students.csv\n\n"
      "Exit code: 0; 1 if --fill left somebody out; 2 for an invalid option or file");
  add_commands(command, options, chosen);
  command.callback([&command, options, &chosen] {
    if (command.subcommand_given()) return;
    chosen = [options] { return show(*options); };
  });
}

}  // namespace prenorm::harness
