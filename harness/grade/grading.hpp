// Grading: one submission by one rubric. The result is plain data; reports are made of it.
#pragma once

#include "cli/selection.hpp"
#include "grade/rubric.hpp"
#include "grade/submission.hpp"
#include "verdict.hpp"

#include <functional>

namespace prenorm::harness {

/// Where the errors of one output lie: for a picture. Of visible failing cases only.
struct ErrorMap {
  std::string tensor;
  Shape shape;  // of the output
  std::int64_t rows = 0,
               columns = 0;  // of the map: all axes but the last, the last; at most 64 each
  /// |y - expected| over the bound (atol + rtol |expected|), the largest of each map cell's
  /// elements; infinite where one is not finite and should be.
  std::vector<double> cells;
  /// Elements by that ratio: <= 2^-8, ..., <= 1/2, <= 1, <= 2, ..., <= 2^20, beyond or not finite.
  std::vector<std::int64_t> histogram;
};

struct GradedCase {
  Result result;  // its `solution` is the submission's name
  bool hidden = false;
  std::vector<std::string> groups;  // that count it, in the rubric's order
  std::string shapes;               // for a person: "x[2, 3, 64], weight[64] -> y[2, 3, 64]"
  std::vector<ErrorMap> errors;     // of a visible one that gave wrong numbers
};

struct GradedGroup {
  std::string name;
  bool hidden = false;
  std::int64_t share = 1;
  std::int64_t passed = 0, total = 0;  // cases
  bool earned = false;                 // all passed, and there was one
};

/// A known mistake whose outputs are those of the submission.
struct Diagnosis {
  std::string problem;
  std::string mistake;              // "halves_instead_of_neighbours"
  std::int64_t agrees = 0, of = 0;  // failing cases in which the outputs agree
};

struct GradedItem {
  std::string name;
  std::vector<std::string> problems;
  double points = 0, earned = 0;
  std::vector<GradedGroup> groups;
  std::vector<GradedCase> cases;
  /// Every mistake that explains a problem's failing cases best: several where they give the same
  /// numbers. Problems with failing numbers and no entry here look like no known mistake.
  std::vector<Diagnosis> diagnoses;
  std::vector<std::string> undiagnosed;  // problems with wrong numbers that no mistake explains
};

struct Grading {
  std::string submission, kind;  // name, "CMake project"
  std::string rubric, title;
  std::string sandbox;             // "bubblewrap"
  std::vector<std::string> notes;  // of the submission; what the rubric forbids and was found
  std::vector<std::string> imports;
  std::uint64_t seed = 0;          // secret: for the instructor's report only
  Status status = Status::passed;  // of the whole: COMPILE_ERROR, LOAD_ERROR, ...
  std::string message;
  std::vector<GradedItem> items;
  double seconds = 0;

  double points() const;
  double earned() const;
  /// Every case's result, visible and hidden, in the order of items. A hidden one without anything
  /// but its status where `secret` is false: no message, no values, no command.
  std::vector<Result> results(bool secret) const;
};

struct GradeOptions {
  std::uint64_t seed = 0;
  bool hidden = true;   // false: leave out hidden groups (no points for them)
  Selection selection;  // problems, cases, dtypes to look at; fixtures
  unsigned jobs = 1;
  std::string repeat;  // "prenorm grade DIR --rubric NAME": what a line that repeats begins with
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress;
};

/// Runs and judges. Throws UsageError for a rubric that the fixtures do not fit, or that zeros, or
/// refusing everything, would earn points by.
Grading grade(const Submission& submission, const Rubric& rubric, const GradeOptions& options);

/// The reports. `secret`: the instructor's, with the seed and what hidden cases gave.
std::string grade_table(const Grading& grading, bool colour, std::size_t width);
std::string grade_json(const Grading& grading, bool secret);
std::string grade_junit(const Grading& grading);
std::string grade_html(const Grading& grading);

}  // namespace prenorm::harness
