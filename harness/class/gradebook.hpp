// The gradebook of a class: an SQLite file with every case of every submission.
#pragma once

#include "grade/grading.hpp"

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
  std::string how = {};           // the sandbox, the interpreter and the limits: limits_record()
};

/// What somebody has handed in.
struct ClassSubmission {
  std::string name;   // of the file or folder, on one line
  std::string path;   // as it was given, any bytes
  std::string files;  // digest; of the gradebook's empty: nothing is graded yet
  std::optional<std::int64_t> changed = {};  // when a file of it last was, in seconds since 1970
};

/// Whether an unchanged submission is to be graded again; `done` until all that were to be are.
enum class Regrade { no, wanted, done };

/// What the gradebook has of a submission besides the grading.
struct Entry : ClassSubmission {
  std::string exam = {};    // digest of what was asked
  std::string limits = {};  // "10 s a call, 300 s to build, 4 GiB; bubblewrap; /usr/bin/python3"
  std::string failure =
      {};  // why there is no grading, or only an earlier one: the grader died, ...
  Regrade regrade = Regrade::no;
};

/// Points that somebody set by hand.
struct SetPoints {
  std::string item;
  double points = 0;
  std::string why;
};

/// A student of the course, from a roster.
struct Student {
  std::string submission;  // the name of the file or folder that is theirs, or also others'
  std::string name, id, email;
  std::optional<std::int64_t> handed_in = {};  // seconds since 1970, where the roster says it
  bool outdated = false;  // other files have been graded since that roster was stored
};

class Gradebook {
 public:
  enum class Access {
    read,    // it must exist; others may write to it at the same time
    change,  // it must exist; this process alone may change it
    create,  // the same; made where it does not exist
  };

  /// Throws UsageError: no such file, no gradebook, damaged, of another version, or another process
  /// changes it. Such a file is left as it is. Every function below throws it too where the file
  /// cannot be read or written, or damage is found later.
  Gradebook(const fs::path& file, Access access);
  ~Gradebook();
  Gradebook(Gradebook&&) = delete;  // nor copied

  const fs::path& file() const;

  /// Nothing before the first grading.
  std::optional<Course> course() const;
  /// Stores the course. Where only points or shares differ from before, all that were graded by
  /// this exam are scored anew from their cases; returns how many.
  std::size_t set_course(const Course& course);

  /// By name.
  std::map<std::string, Entry> entries() const;
  /// Stores a submission with all its cases in place of what was there. Of the errors that pictures
  /// show, those of a problem's first most_pictured failing cases are kept.
  void put(const Entry& entry, Grading grading);
  /// Stores that a submission could not be graded; an earlier grading stays.
  void put_failure(const Entry& entry);
  /// Marks submissions to be graded again.
  void want_regrade(const std::vector<std::string>& names);
  /// Forgets which were graded again, unless others are still to be.
  void end_regrade();
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

  std::vector<SetPoints> set_points(const std::string& name) const;
  void set_points(const std::string& name, const SetPoints& points);
  /// Of all submissions, by name.
  std::map<std::string, std::vector<SetPoints>> all_set_points() const;
  /// Returns whether there were any.
  bool unset_points(const std::string& name, const std::string& item);

  /// In the roster's order. Of several times of one submission, all its students have the last.
  std::vector<Student> roster() const;
  /// Where a submission's name differs from the roster's only in how its accents are written, the
  /// roster gets the submission's, now or when it is put.
  void set_roster(const std::vector<Student>& students);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The grading with the points that were set by hand in place of the earned ones, and a note for
/// each.
Grading with_set_points(Grading grading, const std::vector<SetPoints>& points);

}  // namespace prenorm::harness
