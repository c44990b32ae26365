// What the commands that grade share: how one submission, or each of a class, is asked and run.
#pragma once

#include "base/json.hpp"
#include "base/terminal.hpp"
#include "fixture/selection.hpp"
#include "grade/exam.hpp"
#include "grade/imports.hpp"

#include <optional>

namespace prenorm::harness {

/// As the command line says it.
struct GradeSettings {
  std::string rubric, sandbox;  // empty: the usual ones
  std::optional<std::uint64_t> seed;
  double memory = 4;               // GiB
  double whole_seconds = 0;        // after which a grader of one submission hangs: Grader sets it
  std::vector<std::string> files;  // that the rubric needs, where another grader has found them
  GradeOptions exam;               // but for the seed, the jobs and the progress
  SubmissionOptions submission;    // but for the sandbox, the memory and what is hidden
};

/// The rubric that is meant where none is named.
inline constexpr const char* usual_rubric = "cs336-2025";

/// The interpreter that is meant where none is named: that of the active virtual environment, or
/// else the system's.
std::filesystem::path usual_python();

/// A secret that nobody chose.
std::uint64_t fresh_seed();

/// For a grader in another process, and back.
Json settings_record(const GradeSettings& settings);
GradeSettings settings_of(const Json& record);

/// The limits in words.
std::string limits_text(const GradeSettings& settings);

/// The sandbox, the interpreter and the limits, for a later grading of the same class.
Json limits_record(const GradeSettings& settings);
/// Takes them from there, but for the options that were typed ("--python", ...). Returns those that
/// are not the usual ones, as they would be typed.
std::string take_limits(GradeSettings& settings, const Json& record,
                        const std::vector<std::string>& typed);

/// Everything that is looked up before the first submission. Neither copied nor moved.
class Grader {
 public:
  using Progress = decltype(GradeOptions::progress);

  /// Completes `settings` (a seed, the interpreter's path, the time for all). Throws UsageError for
  /// what cannot be used: a sandbox, a rubric, fixtures.
  Grader(GradeSettings& settings, unsigned jobs, Progress progress);
  Grader(const Grader&) = delete;
  Grader& operator=(const Grader&) = delete;

  const Exam& exam() const { return exam_; }
  std::string sandbox() const { return std::string(name(sandbox_)); }  // that was chosen
  /// A digest of all that is asked: the rubric but for titles, points and shares, the fixtures, the
  /// seed. Two gradings by the same exam need not be done twice.
  std::string exam_digest() const;

  /// Draws the hidden cases into that folder: all graders that are told of it ask the same ones,
  /// and none draws them again.
  void draw_into(const std::filesystem::path& folder, unsigned jobs);
  void take_drawn(const std::filesystem::path& folder) { exam_.options.drawn = folder; }

  /// What a Python submission lacks; nothing for others. Any number of threads may ask.
  std::optional<PythonImports> imports_of(const std::filesystem::path& submission) const;

  /// Runs a submission and judges it. Throws std::invalid_argument where it is nothing that can be
  /// made ready.
  Grading grade(const std::filesystem::path& submission);
  /// The same, where that gets LOAD_ERROR in every case.
  Grading grade_any(const std::filesystem::path& submission);

 private:
  GradeSettings settings_;
  std::string note_;  // on the sandbox
  SandboxKind sandbox_;
  Exam exam_;
  Adapters adapters_;
};

}  // namespace prenorm::harness
