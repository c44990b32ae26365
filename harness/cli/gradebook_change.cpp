// `prenorm gradebook set`, `unset`, `roster` and `remove`.
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "class/composed.hpp"
#include "class/roster.hpp"
#include "cli/gradebook.hpp"
#include "grade/report_parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace prenorm::harness {
namespace {

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

}  // namespace

std::string find_student(const Gradebook& book, const std::string& typed) {
  const std::string word = printable(typed, 255);
  const std::vector<Student> roster = book.roster();
  std::set<std::string> submissions;
  for (const auto& [name, entry] : book.entries()) submissions.insert(name);
  for (const Student& student : roster) submissions.insert(student.submission);
  std::set<std::string> found = called(word, submissions, roster);
  if (found.empty()) {  // as a keyboard writes it, or a Mac
    for (const std::string& name : submissions) {
      if (composed(name) == composed(word)) found.insert(name);
    }
    found.merge(called(composed(word), {}, roster));
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

}  // namespace prenorm::harness
