// What the commands that grade share: how one submission, or each of a class, is asked and run.
#pragma once

#include "grade/exam.hpp"
#include "grade/grade_settings.hpp"

#include <optional>

namespace prenorm::harness {

/// A secret that nobody chose.
std::uint64_t fresh_seed();

/// Everything that is looked up before the first submission. Neither copied nor moved.
class Grader {
 public:
  using Progress = decltype(GradeOptions::progress);

  /// Completes `settings` (a seed, the interpreter's path, the time for all). Throws UsageError for
  /// what cannot be used: a sandbox, a rubric, fixtures.
  Grader(GradeSettings& settings, unsigned jobs, Progress progress = GradeOptions().progress);
  Grader(Grader&&) = delete;  // nor copied

  const Exam& exam() const { return exam_; }
  /// For whoever grades: why the sandbox is not the best there is. Empty: it is.
  const std::string& note() const { return note_; }
  std::string sandbox() const { return std::string(name(sandbox_)); }  // that was chosen
  /// A digest of all that is asked: the rubric but for titles, points and shares, the fixtures, the
  /// seed. Two gradings by the same exam need not be done twice.
  std::string exam_digest() const;

  /// Draws the hidden cases into that folder: all graders that are told of it ask the same sizes,
  /// each submission of values of its own.
  void draw_into(const fs::path& folder, unsigned jobs);
  void take_drawn(const fs::path& folder) { exam_.options.drawn = folder; }

  /// What a Python submission lacks; nothing for others. Any number of threads may ask.
  std::optional<PythonImports> imports_of(const fs::path& submission) const;

  /// Runs a submission and judges it. Throws std::invalid_argument where it is nothing that can be
  /// made ready.
  Grading grade(const fs::path& submission);
  /// The same, where that gets LOAD_ERROR in every case.
  Grading grade_any(const fs::path& submission);

 private:
  GradeSettings settings_;
  std::string note_;  // on the sandbox
  SandboxKind sandbox_;
  Exam exam_;
  Adapters adapters_;
};

}  // namespace prenorm::harness
