// What the reports of a grading share: points and failures in words.
#pragma once

#include "grade/grading.hpp"
#include "grade/words.hpp"
#include "report/table.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

/// Good where all points are earned, bad where none is.
Tone tone_of(double earned, double points);

/// A group's part of its item's points: what it earns where all of it passes. 0 for a group of
/// which nothing could be asked.
double worth(const GradedItem& item, const GradedGroup& group);

/// "12/12, hidden 5/6": cases that passed.
std::string group_counts(const GradedGroup& group);

/// A row an item; below one of which some cases passed, and which has not earned everything, a row
/// a group with its part of the points, its name after two blanks.
Table points_table(const Grading& grading);

bool is_failure(const GradedCase& graded);
/// Whether there was a function to call.
bool has_run(const GradedCase& graded);

/// What failed of one problem.
struct Failures {
  std::vector<const GradedCase*> visible;  // those that failed
  std::size_t asked = 0;                   // visible cases
  std::size_t hidden = 0, asked_hidden = 0;

  bool any() const { return !visible.empty() || hidden > 0; }
  /// Several visible cases, all of which failed with the same status and message.
  bool all_alike() const;
  /// Whether nothing more can be said of each: it did not run.
  bool none_ran() const;
  /// "5 of 31 cases failed, 2 of 23 hidden".
  std::string counts() const;
};
Failures failures_of(const GradedItem& item, const std::string& problem);

/// What the problem's wrong numbers come from; nothing where none are wrong.
std::vector<CauseText> causes_of(const GradedItem& item, const std::string& problem);
/// The same as lines of text, with what the element types of failing cases say.
std::vector<std::string> diagnosis_lines(const GradedItem& item, const std::string& problem);

/// What failed of one problem, the simplest case of each cause first; and how many of them are
/// shown where not all are.
struct FailingOrder {
  std::vector<const GradedCase*> cases;
  std::size_t shown = 0;
};
FailingOrder simplest_first(const Failures& failed);

/// What is wrong with the whole submission, each line fit for a report; "..." for those after the
/// first `most`.
std::vector<std::string> message_lines(const Grading& grading, std::size_t most = 60);

/// "19.73 of 21 points", or "not gradeable".
std::string score_text(const Grading& grading);

/// "398 passed, 31 failed, 0 skipped in 4.00 s".
std::string counts_text(const Grading& grading);

}  // namespace prenorm::harness
