// `prenorm gradebook`: shows and changes a class's results. What it hands out is in
// gradebook_export.cpp.
#include "cli/gradebook.hpp"

#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/times.hpp"
#include "class/roster.hpp"
#include "cli/commands.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness {
namespace {

// --- what commands look up --------------------------------------------------------------------

/// The name of the item, or of the one in which the problem stands.
const RubricItem& find_item(const Course& course, const std::string& word) {
  std::vector<std::string> names;
  for (const RubricItem& item : course.items) {
    if (item.name == word) return item;
    names.push_back(item.name);
    names.insert(names.end(), item.problems.begin(), item.problems.end());
  }
  for (const RubricItem& item : course.items) {
    if (item.has(word)) return item;
  }
  throw UsageError("no item or problem '" + word + "' in the rubric " + course.name +
                   did_you_mean(word, names));
}

double points_of(const std::string& word) {
  double points = 0;
  const char* end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, points);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(points) || points < 0) {
    throw UsageError("POINTS is '" + word + "'; wanted a number, 0 or more");
  }
  return points;
}

Course course_of(const Gradebook& book) {
  std::optional<Course> course = book.course();
  if (!course) throw UsageError(book.file().string() + ": nothing is graded yet");
  return *std::move(course);
}

/// What grading gave for an item; 0 where nothing is graded.
double graded_points(const Gradebook& book, const std::string& name, const std::string& item) {
  const auto entries = book.entries();
  const auto entry = entries.find(name);
  if (entry == entries.end() || entry->second.files.empty()) return 0;
  for (const GradedItem& graded : book.outline(name).items) {
    if (graded.name == item) return graded.earned;
  }
  return 0;
}

/// "note: this holds for all students of submission_501: Jo Doe, Al Lid"; empty where it is one's
/// alone.
std::string note_of_partners(const Gradebook& book, const std::string& name) {
  std::vector<std::string> partners;
  for (const Student& student : book.roster()) {
    if (student.submission != name) continue;
    partners.push_back(!student.name.empty() ? student.name
                       : !student.id.empty() ? student.id
                                             : student.email);
  }
  if (partners.size() < 2) return "";
  return "note: this holds for all students of " + name + ": " + joined(partners) + "\n";
}

/// The submissions that a word is a name of: their own, or what the roster says of their students.
/// One may hand in a folder that is called as somebody else is.
std::set<std::string> called(const std::string& word, const std::set<std::string>& submissions,
                             const std::vector<Student>& roster) {
  std::set<std::string> found;
  if (submissions.contains(word)) found.insert(word);
  for (const Student& student : roster) {
    const bool is_meant =
        student.name == word || student.id == word || lowered(student.email) == lowered(word);
    if (is_meant && !word.empty()) found.insert(student.submission);
  }
  return found;
}

std::string find_student(const Gradebook& book, const std::string& typed) {
  const std::string word = printable(typed, 255);
  const std::vector<Student> roster = book.roster();
  std::set<std::string> submissions;
  for (const auto& [name, entry] : book.entries()) submissions.insert(name);
  for (const Student& student : roster) submissions.insert(student.submission);
  std::set<std::string> found = called(word, submissions, roster);
  if (found.empty()) {  // as a keyboard writes it, or a Mac
    for (const std::string& name : submissions) {
      if (to_nfc(name) == to_nfc(word)) found.insert(name);
    }
    found.merge(called(to_nfc(word), {}, roster));
  }
  if (found.size() == 1) return *found.begin();
  if (found.size() > 1) {
    throw UsageError("several students are called '" + word + "': their submissions are " +
                     joined(std::vector(found.begin(), found.end())));
  }
  std::vector<std::string> names(submissions.begin(), submissions.end());
  for (const Student& student : roster) names.push_back(student.name);
  throw UsageError("no student '" + word + "' in " + book.file().string() +
                   did_you_mean(word, names));
}

// --- changes ----------------------------------------------------------------------------------

int set_points(const GradebookOptions& options) {
  Gradebook book(options.file, Gradebook::Access::change);
  const Course course = course_of(book);
  const std::string name = find_student(book, options.name);
  const RubricItem& item = find_item(course, options.problem);
  const double points = points_of(options.points);
  const std::string why = printable(options.why, 1000);
  if (why.find_first_not_of(' ') == std::string::npos) {
    throw UsageError("--why is empty; wanted the reason, which the student will read");
  }
  book.set_points(name, {item.name, points, why});
  print(fmt::format("{}, {}: {} of {} points, in place of {}: {}\n", name, item.name,
                    points_text(points), points_text(item.points),
                    points_text(graded_points(book, name, item.name)), why) +
        note_of_partners(book, name));
  if (points > item.points) print("note: these are more points than the item has\n");
  return 0;
}

int unset_points(const GradebookOptions& options) {
  Gradebook book(options.file, Gradebook::Access::change);
  const std::string name = find_student(book, options.name);
  const Course course = course_of(book);
  const RubricItem& item = find_item(course, options.problem);
  if (!book.unset_points(name, item.name)) {
    throw UsageError(name + ", " + item.name + ": no points were set by hand");
  }
  print(fmt::format("{}, {}: {} of {} points, as graded\n", name, item.name,
                    points_text(graded_points(book, name, item.name)), points_text(item.points)) +
        note_of_partners(book, name));
  return 0;
}

int keep_roster(const GradebookOptions& options) {
  Gradebook book(options.file, Gradebook::Access::change);
  std::map<std::string, Entry> others = book.entries();
  std::set<std::string> submissions;
  for (const auto& [name, entry] : others) submissions.insert(name);
  const auto [students, note] = read_roster(options.roster, submissions);
  book.set_roster(students);
  const auto handed_in = [&](const Student& each) { return submissions.contains(each.submission); };
  const auto known = std::ranges::count_if(students, handed_in);
  for (const Student& student : students) others.erase(student.submission);
  print(fmt::format("{} in the roster; {} handed something in\n",
                    counted(students.size(), "student"), known));
  if (!others.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, entry] : others) names.push_back(name);
    print("not in the roster: " + printable(joined(names), 2000) + "\n");
  }
  if (!note.empty()) print("note: " + note + "\n");
  return 0;
}

int remove_submission(const GradebookOptions& options) {
  Gradebook book(options.file, Gradebook::Access::change);
  const std::string name = find_student(book, options.name);
  const std::size_t by_hand = book.set_points(name).size();
  if (!book.entries().contains(name) && by_hand == 0) {
    throw UsageError(name + ": nothing was handed in");
  }
  book.forget(name);
  print(name + ": removed from the gradebook" +
        (by_hand > 0 ? ", with points that were set by hand" : "") + "; its files stay\n" +
        note_of_partners(book, name));
  return 0;
}

// --- what is shown ----------------------------------------------------------------------------

int show_student(const Gradebook& book, const GradebookOptions& options) {
  const std::string name = find_student(book, options.student);
  const auto entries = book.entries();
  const auto entry = entries.find(name);
  if (entry == entries.end()) throw UsageError(name + ": nothing was handed in");
  if (entry->second.files.empty()) {
    throw UsageError(name + ": is not graded: " + entry->second.failure);
  }
  const Grading grading = seen(book, name);
  const auto write = [&options](const std::string& path, const auto& text,
                                decltype(&write_text) by = write_text) {
    if (path.empty()) return;
    by(path, text());
    say_written(path, options);
  };
  write(options.json, [&] { return grade_json(grading, false); });
  write(
      options.instructor, [&] { return grade_json(grading, true); }, write_private);
  write(options.junit, [&] { return grade_junit(grading); });
  write(options.html, [&] { return grade_html(grading); });
  if (options.reports().empty()) {
    print(grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose));
  }
  return 0;
}

void write_json(const Overview& class_, const Gradebook& book, const std::string& path) {
  if (path == "-") return class_json(class_, book, print);
  NewFile file(path, true);
  class_json(class_, book, [&file](const std::string& text) { file.write(text); });
  file.commit();
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
  const bool exports = !options.csv.empty() || !options.fill.empty();
  if (exports && !options.incomplete) require_whole(class_);
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
  require_one_on_output(options.reports());
  if (options.fill.empty() != options.out.empty()) {
    throw UsageError("--fill EXPORT and --out FILE go together: grades are written into a copy");
  }
  if (options.incomplete && options.csv.empty() && options.fill.empty()) {
    throw UsageError("--incomplete is for --csv FILE and --fill EXPORT");
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

Option report_options(GradebookOptions& o) {
  return std::vector<Option>{
      {"--summary", o.summary, "Show statistics per problem only, without the table"},
      {"--student NAME", o.student, "Show one student's report: see NAME below"},
      {"--csv FILE", o.csv, "Write a CSV file, one row per student (-: to standard output)"},
      {"--json FILE", o.json,
       "Write all results, hidden cases too: not for students.\nWith --student: the student's "
       "report"},
      {"--html FILE", o.html,
       "Write the class's results as one page. With --student: the student's page.\nWith "
       "--feedback: rows link to the students' pages"},
      {"--junit FILE", o.junit, "Write the student's cases as JUnit XML"},
      {"--instructor FILE", o.instructor,
       "With --student: JSON with the seed and hidden results: not for students"},
      {"--feedback FOLDER", o.feedback,
       "Write one page per student, with only what the student may see"},
      {"--deadline TIME", o.deadline,
       "Add a column of days late, as in 2026-10-05T23:59 (up to that minute's end)\n"
       "or 2026-10-05 (that day's end).\n"
       "Points stay. Times are the roster's, or else those of the files as they were\n"
       "graded, which students can set"},
      {"--fill EXPORT", o.fill,
       "Write totals into a copy of what Canvas, Moodle or Gradescope exports;\n"
       "students are found by id, login or e-mail address"},
      {"--column NAME", o.column,
       "With --fill: the column for the totals, as \"Assignment 1 (12345)\""},
      {"--out FILE", o.out, "With --fill: the copy"},
      {"--incomplete", o.incomplete,
       "With --csv or --fill: also the points so far of what is not graded whole"},
      {"--verbose", o.verbose, "With --student: print every failing case"},
      no_color_option(o.no_color)};
}

/// `gradebook FILE set` and the others, which have the same options as one variable.
std::vector<Command> commands_of(const std::shared_ptr<GradebookOptions>& options) {
  GradebookOptions& o = *options;
  const auto run = [&options](int (*command)(const GradebookOptions&)) {
    return [options, command] { return command(*options); };
  };
  const Option name{"NAME", o.name, "The student", Trait::required};
  const Option problem{"PROBLEM", o.problem, "An item of the rubric, or one of its problems",
                       Trait::required};
  return {
      {.name = "set",
       .description = "Set a student's points by hand",
       .options = {name,
                   problem,
                   {"POINTS", o.points, "0 or more", Trait::required},
                   {"--why TEXT", o.why, "The reason, shown to the student", Trait::required}},
       .run = run(set_points)},
      {.name = "unset",
       .description = "Restore the graded points",
       .options = {name, problem},
       .run = run(unset_points)},
      {.name = "roster",
       .description = "Store the names of the course's students",
       .options = {{"ROSTER", o.roster,
                    "CSV with columns submission (the name of a file or folder), name, id, email,\n"
                    "submitted; or an export of Canvas, Moodle or Gradescope",
                    Trait::required}},
       .run = run(keep_roster)},
      {.name = "remove",
       .description = "Remove a submission and the points set for it",
       .options = {name},
       .run = run(remove_submission)},
      {.name = "similar",
       .description = "List submissions whose sources are alike",
       .options = {{"--share PERCENT", o.share, "Least share of code in per cent (default: 50)",
                    in_range(0, 100)},
                   {"--given PATH", o.given_out, "Code that everybody was given: does not count"}},
       .footer =
           R"(Sources are compared without names, numbers, comments and white space. What more than half
of the class has does not count either. Files are read where they were graded: run this in
the same folder. The list is not a verdict: read both.)",
       .run = run(list_similar)}};
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

Command gradebook_command() {
  const auto options = std::make_shared<GradebookOptions>();
  GradebookOptions& o = *options;
  return {
      .name = "gradebook",
      .description = "Show or export a class's results",
      .options = {{"FILE", o.file, "A gradebook, made by prenorm grade ... --gradebook FILE",
                   Trait::shows_default},
                  report_options(o)},
      .footer =
          R"(NAME is that of the submission's file or folder; or a student's name, id or e-mail address
in the roster. Points that are set by hand belong to a submission: students who handed it in
together share them. They stay when the class is graded again.

Examples:
  prenorm gradebook grades.sqlite                       the table, and how problems went
  prenorm gradebook grades.sqlite --csv grades.csv      for a spreadsheet
  prenorm gradebook grades.sqlite --student alice --html alice.html
  prenorm gradebook grades.sqlite --feedback pages      one page per student
  prenorm gradebook grades.sqlite --fill canvas.csv --column 'Homework 2 (12345)' --out filled.csv
  prenorm gradebook grades.sqlite set alice PROBLEM 2 --why 'appeal'
  prenorm gradebook grades.sqlite roster students.csv

Exit code: 0; 1 if --fill left somebody out; 2 for an invalid option or file)",
      .run = [options] { return show(*options); },
      .commands = commands_of(options)};
}

}  // namespace prenorm::harness
