// `prenorm gradebook`: what came of a class.
#include "base/error.hpp"
#include "base/files.hpp"
#include "class/gradebook.hpp"

#include "base/digest.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "class/class_overview.hpp"
#include "class/roster.hpp"
#include "cli/command.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sys/prctl.h>

namespace prenorm::harness {
namespace {

namespace fs = std::filesystem;

struct GradebookOptions {
  std::string file = "grades.sqlite";
  bool summary = false, no_color = false, verbose = false;
  std::string student, csv, json, junit, html, instructor, feedback;
  // of set, unset, roster
  std::string name, problem, points, why, roster;

  std::vector<std::string> reports() const {
    std::vector<std::string> paths{csv, json, junit, html, instructor};
    std::erase(paths, "");
    return paths;
  }
  bool report_on_output() const { return std::ranges::count(reports(), "-") > 0; }
};

/// Capitals as small letters, of ASCII.
std::string lowered(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// The name of somebody's submission, by that name, or by what the roster says of them. Throws
/// UsageError, with the nearest name.
std::string find_student(const Gradebook& book, const std::string& typed) {
  const std::string word = printable(typed, 255);
  const std::vector<Student> roster = book.roster();
  std::vector<std::string> names;
  for (const auto& [name, entry] : book.entries()) names.push_back(name);
  for (const Student& student : roster) names.push_back(student.submission);
  if (std::ranges::find(names, word) != names.end()) return word;
  std::vector<std::string> found;
  for (const Student& student : roster) {
    const bool is_meant = student.name == word || student.id == word ||
                          (!word.empty() && lowered(student.email) == lowered(word));
    if (is_meant) found.push_back(student.submission);
    names.push_back(student.name);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    throw UsageError("several students are called '" + word + "': their submissions are " +
                     joined(found));
  }
  throw UsageError("no student '" + word + "' in " + book.file().string() +
                   did_you_mean(word, names));
}

/// The name of the item, or of the one in which the problem stands.
const RubricItem& find_item(const Course& course, const std::string& word) {
  std::vector<std::string> names;
  for (const RubricItem& item : course.items) {
    if (item.name == word) return item;
    names.push_back(item.name);
    names.insert(names.end(), item.problems.begin(), item.problems.end());
  }
  for (const RubricItem& item : course.items) {
    if (std::ranges::find(item.problems, word) != item.problems.end()) return item;
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

int set(const GradebookOptions& options) {
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
                    points_text(graded_points(book, name, item.name)), why));
  if (points > item.points) print("note: these are more points than the item has\n");
  return 0;
}

int unset(const GradebookOptions& options) {
  Gradebook book(options.file, Gradebook::Access::change);
  const std::string name = find_student(book, options.name);
  const Course course = course_of(book);
  const RubricItem& item = find_item(course, options.problem);
  if (!book.unset_points(name, item.name)) {
    throw UsageError(name + ", " + item.name + ": no points were set by hand");
  }
  print(fmt::format("{}, {}: {} of {} points, as graded\n", name, item.name,
                    points_text(graded_points(book, name, item.name)), points_text(item.points)));
  return 0;
}

int keep_roster(const GradebookOptions& options) {
  const std::vector<Student> students = read_roster(options.roster);
  Gradebook book(options.file, Gradebook::Access::change);
  book.set_roster(students);
  std::map<std::string, Entry> others = book.entries();
  std::size_t known = 0;
  for (const Student& student : students) known += others.erase(student.submission);
  print(fmt::format("{} in the roster; {} handed something in\n",
                    counted(students.size(), "student"), known));
  if (!others.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, entry] : others) names.push_back(name);
    print("of nobody in the roster: " + printable(joined(names), 2000) + "\n");
  }
  return 0;
}

/// What a student may see: with the points that count.
Grading seen(const Gradebook& book, const std::string& name) {
  return with_set_points(book.grading(name), book.set_points(name));
}

int show_student(const Gradebook& book, const GradebookOptions& options) {
  const std::string name = find_student(book, options.student);
  const auto entries = book.entries();
  const auto entry = entries.find(name);
  if (entry == entries.end()) throw UsageError(name + ": nothing was handed in");
  if (entry->second.files.empty()) {
    throw UsageError(name + ": is not graded: " + entry->second.failure);
  }
  const Grading grading = seen(book, name);
  const auto write = [](const std::string& path, const auto& text) {
    if (!path.empty()) write_text(path, text());
  };
  write(options.json, [&] { return grade_json(grading, false); });
  if (!options.instructor.empty()) write_private(options.instructor, grade_json(grading, true));
  write(options.junit, [&] { return grade_junit(grading); });
  write(options.html, [&] { return grade_html(grading); });
  if (!options.report_on_output()) {
    print(grade_table(grading, wants_colour(options.no_color), terminal_width(), options.verbose));
  }
  return 0;
}

/// Whether a file may be called so on every system, as it stands.
bool is_plain(char c) {
  constexpr std::string_view others = "-_. +,=@";
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || static_cast<unsigned char>(c) >= 0x80 ||
         others.find(c) != std::string_view::npos;
}

/// A file's name for a student, whatever they are called: what no file may be called is _, and
/// then, or where the name is long or was written otherwise, a piece of the name's digest tells
/// them apart.
std::string file_stem(const std::string& name) {
  constexpr std::size_t longest = 200;
  std::string stem;
  for (const char c : name) stem += is_plain(c) ? c : '_';
  if (stem.size() > longest) {
    std::size_t end = longest;
    while ((static_cast<unsigned char>(stem[end]) & 0xc0) == 0x80) --end;
    stem.resize(end);
  }
  for (const char c : {'.', '-', ' ', '+', '=', '@'}) {
    if (stem.starts_with(c)) stem.front() = '_';
  }
  if (stem.ends_with('.') || stem.ends_with(' ')) stem.back() = '_';
  if (stem == name && lowered(stem) == stem) return stem;
  // Some systems take capitals for small letters.
  return stem + "-" + Digest().add(name).hex().substr(0, 8);
}

int hand_out(const Gradebook& book, const GradebookOptions& options) {
  const fs::path folder = options.feedback;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw UsageError("cannot make the folder " + folder.string() +
                     (error ? ": " + error.message() : ""));
  }
  Progress progress;
  std::size_t done = 0;
  std::vector<std::string> without;
  const Overview class_ = overview(book);
  for (const OverviewRow& row : class_.rows) {
    if (!row.graded) {
      without.push_back(row.submission);
      continue;
    }
    progress.show(fmt::format("[{}/{}] {}", ++done, class_.rows.size(), row.submission));
    write_text((folder / (file_stem(row.submission) + ".html")).string(),
               grade_html(seen(book, row.submission)));
  }
  progress.clear();
  print(counted(done, "page") + " in " + printable(folder.string()) + "\n");
  if (!without.empty()) print("no page, as nothing is graded: " + joined(without) + "\n");
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
  if (!options.junit.empty() || !options.instructor.empty()) {
    throw UsageError("--junit and --instructor are of one student: --student NAME");
  }
  const Overview class_ = overview(book);
  if (!options.csv.empty()) write_text(options.csv, class_csv(class_));
  if (!options.html.empty()) write_text(options.html, class_html(class_));
  if (!options.json.empty()) write_json(class_, book, options.json);
  if (options.report_on_output()) return 0;
  const bool colour = wants_colour(options.no_color);
  if (!options.summary) print(class_table(class_, colour, terminal_width()));
  print(class_summary(class_, colour, terminal_width()));
  return 0;
}

/// Throws UsageError for what is given beside --feedback.
void require_feedback_alone(const GradebookOptions& options) {
  std::vector<std::string> others;
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"--csv", options.csv},
                                    {"--json", options.json},
                                    {"--html", options.html},
                                    {"--junit", options.junit},
                                    {"--instructor", options.instructor},
                                    {"--student", options.student}}) {
    if (!value.empty()) others.push_back(name);
  }
  if (options.summary) others.emplace_back("--summary");
  if (others.empty()) return;
  throw UsageError("--feedback writes everybody's pages and nothing else; without it: " +
                   joined(others));
}

int show(const GradebookOptions& options) {
  if (std::ranges::count(options.reports(), "-") > 1) {
    throw UsageError("standard output (-) holds one report only");
  }
  if (!options.feedback.empty()) require_feedback_alone(options);
  const Gradebook book(options.file, Gradebook::Access::read);
  for (const std::string& path : options.reports()) require_writable(path);
  if (!options.feedback.empty()) return hand_out(book, options);
  if (options.student.empty()) return show_class(book, options);
  if (!options.csv.empty() || options.summary) {
    throw UsageError("--csv and --summary are of the whole class, without --student");
  }
  return show_student(book, options);
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
      "Write the class's results as one page. With --student: the student's page");
  add("--junit", options.junit, "Write the student's cases as JUnit XML");
  add("--instructor", options.instructor,
      "With --student: JSON with the seed and hidden results: not for students");
  command
      .add_option("--feedback", options.feedback,
                  "Write one page per student, with only what the student may see")
      ->type_name("FOLDER");
  command.add_flag("--verbose", options.verbose, "With --student: print every failing case");
  command.add_flag("--no-color", options.no_color, "Disable colours, like NO_COLOR=1");
}

void add_changes(Arguments& command, const std::shared_ptr<GradebookOptions>& options,
                 Action& chosen) {
  const auto add_what = [&options](Arguments& to) {
    to.add_option("NAME", options->name, "The student")->required()->type_name("");
    to.add_option("PROBLEM", options->problem, "An item of the rubric, or one of its problems")
        ->required()
        ->type_name("");
  };
  Arguments& set_command = *command.add_subcommand("set", "Set a student's points by hand");
  add_what(set_command);
  set_command.add_option("POINTS", options->points, "0 or more")->required()->type_name("");
  set_command.add_option("--why", options->why, "The reason, shown to the student")
      ->required()
      ->type_name("TEXT");
  set_command.callback([options, &chosen] { chosen = [options] { return set(*options); }; });
  Arguments& unset_command = *command.add_subcommand("unset", "Restore the graded points");
  add_what(unset_command);
  unset_command.callback([options, &chosen] { chosen = [options] { return unset(*options); }; });
  Arguments& roster = *command.add_subcommand("roster", "Store the names of the course's students");
  roster
      .add_option("ROSTER", options->roster,
                  "CSV with columns submission (the name of a file or folder), name, id, email")
      ->required()
      ->type_name("");
  roster.callback([options, &chosen] { chosen = [options] { return keep_roster(*options); }; });
}

}  // namespace

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
      "in the roster. Points that are set by hand stay when the class is graded again.\n\n"
      "Examples:\n"
      "  prenorm gradebook grades.sqlite                       the table, and how problems went\n"
      "  prenorm gradebook grades.sqlite --csv grades.csv      for a spreadsheet\n"
      "  prenorm gradebook grades.sqlite --student alice --html alice.html\n"
      "  prenorm gradebook grades.sqlite --feedback pages      one page per student\n"
      "  prenorm gradebook grades.sqlite set alice PROBLEM 2 --why 'appeal'\n"
      "  prenorm gradebook grades.sqlite roster students.csv\n\n"
      "Exit code: 0, or 2 for an invalid option or file");
  add_changes(command, options, chosen);
  command.callback([&command, options, &chosen] {
    if (command.subcommand_given()) return;  // set, unset, roster
    chosen = [options] { return show(*options); };
  });
}

}  // namespace prenorm::harness
