// What the sources of `prenorm gradebook` share.
#pragma once

#include "class/class_overview.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

struct GradebookOptions {
  std::string file = "grades.sqlite";
  bool summary = false, no_color = false, verbose = false;
  bool incomplete = false;  // exports what is not graded whole, too
  std::string student, csv, json, junit, html, instructor, feedback;
  std::string deadline;
  std::string fill, column, out;  // a platform's export, the column for grades, the copy
  // of set, unset, roster, remove
  std::string name, problem, points, why, roster;
  // of similar
  double share = 50;  // per cent
  std::vector<std::string> given_out;

  std::vector<std::string> reports() const;
  bool report_on_output() const;
};

/// What a student may see: with the points that count.
Grading seen(const Gradebook& book, const std::string& name);

/// A page for each student who is graded, to which the rows of the class are linked then.
void hand_out(const Gradebook& book, const GradebookOptions& options, Overview& class_);
/// Throws UsageError where points would be exported that are not the whole grade.
void require_whole(const Overview& class_);
/// Returns 1 where somebody is left out.
int fill_export(const GradebookOptions& options, const Overview& class_);
int list_similar(const GradebookOptions& options);

/// "wrote grades.csv"; nothing for standard output. Where that holds a report: on standard error.
void say_written(const std::string& path, const GradebookOptions& options);

}  // namespace prenorm::harness
