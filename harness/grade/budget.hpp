// What one submission may cost: processor time for all of its cases, and what is lost on those of
// one problem that never end.
#pragma once

#include "fixture/verdict.hpp"
#include "grade/exam.hpp"
#include "solution/solution.hpp"

#include <mutex>

namespace prenorm::harness {

/// Seconds for all cases of an exam: as GradeOptions says, or the usual ones. An honest submission
/// needs about a twentieth of these.
double budget_of(const Exam& exam);

/// The time for all cases of one submission: that of its own processes (Solution::spent()), so
/// that points do not depend on what else the machine does. Any number of threads may ask.
///
/// Visible cases are all asked before the hidden ones, so each kind has its part of the time, by
/// the number of its cases. Problems take turns: one gets an equal share of what is left, and waits
/// for another turn where that is not enough. So a slow problem takes no time from a quick one.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds), end_(seconds) {}

  /// From now on one kind of cases is asked: `count` of `of` that have not been asked yet.
  void begin_kind(std::size_t count, std::size_t of);
  /// All problems that have cases left get a turn.
  void begin_round(std::size_t turns);
  /// The seconds of the next turn.
  double begin_turn();
  /// It took `used` of its seconds.
  void end_turn(double seconds, double used);

  void spend(double seconds);
  /// What the present kind of cases has left.
  double left() const;
  bool spent() const { return left() < no_time; }
  double seconds() const { return seconds_; }

 private:
  mutable std::mutex one_;
  double seconds_, end_;  // of all cases; where the present kind ends
  double spent_ = 0;
  double given_ = 0;  // to turns: as many seconds as they have used, or may use
  std::size_t turns_ = 1;
};

/// Ends the cases of a problem where each would cost a worker and much time. The group that is
/// worth the most is asked on, with all of the time, while its own cases end: who makes slow tables
/// of far positions may be right at the course's shapes.
class Losses {
 public:
  /// `slow`: it took so long that it counts as much as one that did not end. `worker_is_lost`: it
  /// has ended one that takes seconds to start.
  void add(const ExamCase& exam_case, const Result& result, bool slow, bool worker_is_lost);
  /// Whether a case gets less time, as another did not end.
  bool shortens(const ExamCase& exam_case) const { return timed_out_ && !spares(exam_case); }
  bool too_many_for(const ExamCase& exam_case) const;
  /// The result of a case that is not run for that.
  Result not_run() const;

 private:
  bool spares(const ExamCase& exam_case) const { return exam_case.is_worth_most && !most_is_lost_; }

  int slow_ = 0, workers_ = 0;  // those that did not end are slow too
  bool timed_out_ = false;
  bool most_is_lost_ = false;  // a case of the group that is worth the most
  Status last_ = Status::timeout;
};

}  // namespace prenorm::harness
