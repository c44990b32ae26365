#include "grade/budget.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace prenorm::harness {
namespace {

constexpr double least_seconds = 300, seconds_for_a_case = 0.5;
/// What cases that end their worker, or never end, may cost a problem.
constexpr int most_slow = 3, most_workers_lost = 30;

}  // namespace

double budget_of(const Exam& exam) {
  if (exam.options.budget > 0) return exam.options.budget;
  std::size_t cases = 0;
  for (const ExamPart& each : exam.parts) cases += each.cases.size();
  return std::max(least_seconds, seconds_for_a_case * static_cast<double>(cases));
}

void Budget::begin_kind(std::size_t count, std::size_t of) {
  const std::scoped_lock lock(one_);
  const double share =
      static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(1, of));
  end_ = spent_ + std::max(0.0, seconds_ - spent_) * std::min(1.0, share);
  given_ = spent_;
}

void Budget::begin_round(std::size_t turns) {
  const std::scoped_lock lock(one_);
  turns_ = turns;
}

double Budget::begin_turn() {
  const std::scoped_lock lock(one_);
  const double share = std::max(0.0, end_ - given_) / static_cast<double>(turns_--);
  given_ += share;
  return share;
}

void Budget::end_turn(double seconds, double used) {
  const std::scoped_lock lock(one_);
  given_ += used - seconds;
}

void Budget::spend(double seconds) {
  const std::scoped_lock lock(one_);
  spent_ += seconds;
}

double Budget::left() const {
  const std::scoped_lock lock(one_);
  return end_ - spent_;
}

void Losses::add(const ExamCase& exam_case, const Result& result, bool slow, bool worker_is_lost) {
  const bool lost = result.status == Status::timeout || result.status == Status::out_of_memory ||
                    result.status == Status::runtime_error ||
                    result.status == Status::sandbox_violation;
  if (!lost) return;
  const bool timeout = result.status == Status::timeout;
  timed_out_ = timed_out_ || timeout;
  slow_ += slow || timeout ? 1 : 0;
  workers_ += worker_is_lost ? 1 : 0;
  last_ = result.status;
  most_is_lost_ = most_is_lost_ || exam_case.is_worth_most;
}

bool Losses::too_many_for(const ExamCase& exam_case) const {
  const bool too_many = slow_ >= most_slow || workers_ >= most_workers_lost;
  return too_many && !spares(exam_case);
}

Result Losses::not_run() const {
  Result result;
  result.not_run = true;
  const bool slow = slow_ >= most_slow;
  result.status = slow && timed_out_ ? Status::timeout : last_;
  result.message =
      slow
          ? fmt::format("not run: {} cases of this problem were slow or did not end", most_slow)
          : fmt::format("not run: {} cases of this problem ended their process", most_workers_lost);
  return result;
}

}  // namespace prenorm::harness
