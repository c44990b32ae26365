// The gradebook of a class: an SQLite file that holds every case of every submission.
#pragma once

#include "grade/grading.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace prenorm::harness {

/// What a class is asked.
struct Course {
  std::string rubric;       // as --rubric takes it; a file's path is absolute
  std::string name, title;  // of the rubric
  std::uint64_t seed = 0;   // of the hidden cases: secret
  std::string exam;         // digest of all that is asked: rubric without points, fixtures, seed
  std::vector<RubricItem> items;  // in the rubric's order, with their points and shares
};

/// What stands in the gradebook about one submission, without its cases.
struct Entry {
  std::string name;     // of the file or folder, on one line
  std::string path;     // as it was given, any bytes
  std::string files;    // digest of what was handed in; empty: nothing graded yet
  std::string exam;     // digest of what was asked
  std::string limits;   // "10 s a call, 300 s to build, 4 GiB; bubblewrap; /usr/bin/python3"
  std::string failure;  // why there is no grading, or only an earlier one: the grader died, ...
  bool again = false;   // to be graded again, though nothing changed
  /// When its files were last, in seconds since 1970. For put(): handed_in() tells it.
  std::optional<std::int64_t> changed = {};
};

/// Points that somebody set.
struct SetPoints {
  std::string item;
  double points = 0;
  std::string why;
};

/// One of the course, from a roster.
struct Student {
  std::string submission;  // the name of the file or folder that is theirs, or also others'
  std::string name, id, email;
  /// Seconds since 1970, where the roster says it. For set_roster(): handed_in() tells it.
  std::optional<std::int64_t> handed_in = {};
};

/// When a submission was handed in, in seconds since 1970.
struct HandedIn {
  std::int64_t time = 0;  // what the roster says, else when the files were last changed
  bool outdated = false;  // the roster's, and other files were graded since it was stored
};

class Gradebook {
 public:
  enum class Access {
    read,    // it must exist; others may write to it at the same time
    change,  // it must exist; this process alone may change it
    create,  // the same; made where it does not exist
  };

  /// Throws UsageError: no such file, no gradebook, damaged, of another version, or another process
  /// changes it. Such a file is left as it is. So does every function below, where the file cannot
  /// be read or written, or damage is found later.
  Gradebook(const std::filesystem::path& file, Access access);
  ~Gradebook();
  Gradebook(const Gradebook&) = delete;
  Gradebook& operator=(const Gradebook&) = delete;

  const std::filesystem::path& file() const;

  /// Nothing before the first grading.
  std::optional<Course> course() const;
  /// Keeps the course. Where only points or shares are others than before, all that were graded by
  /// this exam are scored anew from their cases; returns how many.
  std::size_t set_course(const Course& course);

  /// The sandbox, the interpreter and the limits of the last grading, as grade_settings has them;
  /// empty before the first, and in gradebooks of earlier versions.
  std::string how() const;
  void set_how(const std::string& record);

  /// By name.
  std::map<std::string, Entry> entries() const;
  /// One submission, with all its cases, in place of what stood there. In one transaction. Of the
  /// errors that pictures show, those of a problem's first most_pictured failing cases are kept.
  void put(const Entry& entry, const Grading& grading);
  /// That a submission could not be graded; an earlier grading stays.
  void put_failure(const Entry& entry);
  /// Marks submissions to be graded again.
  void put_again(const std::vector<std::string>& names);
  /// Points that were set by hand stay.
  void remove(const std::string& name);
  /// Removes these, too.
  void forget(const std::string& name);

  /// As it was graded; points that were set by hand are not in it.
  Grading grading(const std::string& name) const;
  /// The same without cases: a class's table needs none.
  Grading outline(const std::string& name) const;
  /// How many cases of each status; of all submissions, by name.
  std::map<std::string, std::map<Status, std::int64_t>> statuses() const;
  /// The same of each problem, by submission and problem.
  std::map<std::string, std::map<std::string, std::map<Status, std::int64_t>>> tallies() const;

  std::vector<SetPoints> set_points(const std::string& name) const;
  void set_points(const std::string& name, const SetPoints& points);
  /// Of all submissions, by name.
  std::map<std::string, std::vector<SetPoints>> all_set_points() const;
  /// Returns whether there were any.
  bool unset_points(const std::string& name, const std::string& item);

  /// In the roster's order.
  std::vector<Student> roster() const;
  /// Of several times of one submission the last one holds. Where a submission's name differs from
  /// the roster's only in how its accents are written, the roster takes it, now or when it comes.
  void set_roster(const std::vector<Student>& students);

  /// By name; without those of which nothing is known.
  std::map<std::string, HandedIn> handed_in() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The grading with the points that were set by hand in place of the earned ones, and a note for
/// each.
Grading with_set_points(Grading grading, const std::vector<SetPoints>& points);

}  // namespace prenorm::harness
