// What the reports of a grading share: points and failures in words.
#pragma once

#include "base/json.hpp"
#include "explain/failures.hpp"
#include "grade/grading.hpp"
#include "report/table.hpp"

#include <string>
#include <vector>

namespace prenorm::harness {

/// At most two decimals, without trailing zeros: "1", "0.5", "1234.25".
std::string points_text(double points);

/// "1 point", "2.5 points".
std::string of_points(double points);

/// Good where all points are earned, bad where none is.
Tone tone_of(double earned, double points);

/// A group's part of its item's points: what it earns where all of it passes. 0 for a group of
/// which nothing could be asked.
double worth(const GradedItem& item, const GradedGroup& group);

/// "12/12, hidden 5/6": cases that passed.
std::string group_counts(const GradedGroup& group);

/// One row per item; below an item of which some cases passed, and which has not earned everything,
/// one row per group with its part of the points.
struct PointsRow {
  std::string name, points, passed;  // "rope", "0.5 / 2", "2/8"
  bool is_group = false;
  Tone tone = Tone::plain;
};
std::vector<PointsRow> points_rows(const Grading& grading);

bool is_failure(const GradedCase& graded);

/// What failed of one problem of the item, with what its wrong numbers come from.
Failures failures_of(const GradedItem& item, const std::string& problem);

/// The items, those that lose the most points first.
std::vector<const GradedItem*> by_points_lost(const Grading& grading);

/// A problem of which something failed.
struct FailedProblem {
  std::string problem;
  Failures failed;
};
/// In the order of by_points_lost(). None of what cannot be run at all: every case fails alike.
std::vector<FailedProblem> failed_problems(const Grading& grading);

/// What is wrong with the whole submission, each line fit for a report; "..." for those after the
/// first 60.
std::vector<std::string> message_lines(const Grading& grading);

/// "19.73 of 21 points", also ", not graded whole"; or "not gradeable".
std::string score_text(const Grading& grading);

/// "398 passed, 31 failed, 0 skipped in 4.00 s".
std::string counts_text(const Grading& grading);

/// A case in a report in JSON. `secret`: with what a hidden case gave.
Json case_object(const GradedItem& item, const GradedCase& graded, bool secret);

/// An item in it: points, groups and diagnoses, without the cases.
Json item_object(const GradedItem& item);

/// What kernels did to memory: for a terminal, empty where there are none; for the page, null where
/// there are none; for a report in JSON.
std::string profiles_text(const std::vector<CallProfile>& calls, bool colour);
Json profiles_values(const std::vector<CallProfile>& calls);
Json profiles_object(const std::vector<CallProfile>& calls);

}  // namespace prenorm::harness
