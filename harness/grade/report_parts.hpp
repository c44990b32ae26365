// What the reports of a grading share: points and failures in words.
#pragma once

#include "explain/failures.hpp"
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

/// What failed of one problem of the item, with what its wrong numbers come from.
Failures failures_of(const GradedItem& item, const std::string& problem);

/// What is wrong with the whole submission, each line fit for a report; "..." for those after the
/// first `most`.
std::vector<std::string> message_lines(const Grading& grading, std::size_t most = 60);

/// "19.73 of 21 points", or "not gradeable".
std::string score_text(const Grading& grading);

/// "398 passed, 31 failed, 0 skipped in 4.00 s".
std::string counts_text(const Grading& grading);

}  // namespace prenorm::harness
