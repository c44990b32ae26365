// What is asked of a submission: the rubric's cases, looked up in the fixtures and checked before
// anything of the submission is built or run; and hidden cases: fresh ones, drawn from stored cases
// by a secret seed: their sizes for one grading or for all of a class, their values for one
// submission.
#pragma once

#include "grade/grading.hpp"
#include "replay/calibrate.hpp"
#include "replay/runner.hpp"

#include <map>

namespace prenorm::harness {

/// What is accepted besides a case's tolerance: a course's bound, or so many times the tolerance.
struct Widening {
  double atol = 0, rtol = 0;
  double times = 1;

  bool any() const { return atol > 0 || rtol > 0 || times > 1; }
  Tolerance of(Tolerance tolerance) const;
};

/// One case to be asked.
struct ExamCase {
  const SelectedFixture* file = nullptr;
  const Case* stored = nullptr;  // a hidden one is drawn from it
  std::string name;              // of the case; of a hidden one "hidden_3"
  bool hidden = false;
  bool is_worth_most = false;        // is in the group that is worth the most of its problem's
  std::vector<std::string> groups;   // that count it, in the rubric's order
  std::vector<std::string> accepts;  // globs of known mistakes, "float32_*", that it forgives
  Widening widening;                 // by the widest of these groups
  bool is_public = false;            // a shipped fixture has its answer: anybody can copy it
};

/// All that is asked of one problem.
struct ExamPart {
  std::string problem;
  const SelectedFixture* file = nullptr;  // the first of the problem's files: its signature
  std::vector<ExamCase> cases;            // visible ones in the files' order, then hidden ones
};

/// One exam may grade several submissions.
struct Exam {
  Rubric rubric;  // only the items and problems that are asked
  GradeOptions options;
  bool partial = false;  // not the whole rubric is asked: no grade
  std::vector<SelectedFixture> files;
  std::vector<ExamPart> parts;  // a problem each, in the rubric's order

  /// The signatures, as text, of problems that these are made of and this exam does not ask for.
  std::map<std::string, std::string> unasked;

  /// Of the problems, and of what they are made of, by name.
  std::map<std::string, std::string> signatures() const;
};

/// Throws UsageError for a rubric that the fixtures do not fit: a problem without a fixture, a
/// pattern that no case fits, a group that outputs of zeros, stored answers or refusing everything
/// would earn.
Exam make_exam(const Rubric& rubric, const GradeOptions& options);

/// How much wider the absolute tolerance of each output is so that the problem's mistakes with
/// these names (globs) pass the case, and what is computed alike: four times the largest deviation
/// of any of them from the truth on the case's own inputs, and at most half of the truth's root
/// mean square, so that zeros pass nothing. Those that give other shapes, NaN or infinity elsewhere
/// than the truth, or refuse, count for nothing. Empty where nothing is accepted. Throws
/// SolutionFailed.
std::vector<double> accepted_deviations(const std::vector<std::string>& names,
                                        const std::string& problem, const Signature& signature,
                                        const LoadedCase& loaded, Solution& mistakes);

/// Whether fresh cases can be drawn from it: it has an answer and something to draw, and is not so
/// large that tolerances for it take long.
bool can_be_hidden(const Case& info);

/// The order in which a problem's hidden cases are numbered: a permutation of 0 .. count - 1 that
/// the seed decides, so that a number tells nothing of the case behind it.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, const std::string& words);

/// By the exam's parts and their cases. Nothing at visible ones, and where no fresh values
/// could be given an answer.
using DrawnCases = std::vector<std::vector<std::optional<LoadedCase>>>;

/// Draws them on the exam's threads, a pool each, with tf32 tolerances where they are wanted: what
/// all submissions of a class share, which are the sizes and the tolerances.
DrawnCases draw_hidden(const Exam& exam, std::vector<SolutionPool>& pools, bool tf32);

/// Gives them the values of one submission, by the seed, its name and the digest of its files:
/// whatever it might learn of its cases answers nobody else's, and not its own when it is handed in
/// again.
void draw_own(const Exam& exam, const std::string& submission, const std::string& files,
              std::vector<SolutionPool>& pools, DrawnCases& drawn);

/// Writes them into a folder, as fixture files. Secret.
void write_drawn(const fs::path& folder, const Exam& exam, const DrawnCases& drawn);
/// The same cases, without tf32 tolerances. Throws std::runtime_error.
DrawnCases read_drawn(const fs::path& folder, const Exam& exam);

}  // namespace prenorm::harness
