// The workers of a submission whose cases are asked: one for each thread that asks.
#pragma once

#include "grade/budget.hpp"
#include "grade/submission.hpp"

#include <optional>
#include <vector>

namespace prenorm::harness {

class Workers {
 public:
  /// `first` are those of the first threads, at least one. The first has been loaded, and what that
  /// took is spent; the others may have been started.
  Workers(const Submission& submission, Budget& budget, std::vector<Solution> first,
          std::size_t threads);

  /// A worker that no call has been made in: what one problem leaves behind, another does not find.
  /// Where workers take seconds to start, there is one for each thread, of which copies answer.
  Solution& fresh(std::size_t thread);
  Solution& of(std::size_t thread) { return *seats_[thread].solution; }
  /// Takes from the budget what a thread's worker has spent since this was last called, or since it
  /// was fresh; returns it. What nobody takes is spent by nobody.
  double spend(std::size_t thread);
  /// Ends all of them.
  void clear() { seats_.clear(); }

  /// Seconds that a call may take, unless a worker has another limit.
  double call_limit() const { return call_limit_; }

 private:
  struct Seat {
    std::optional<Solution> solution;
    bool used = false;
    double counted = 0;  // of Solution::spent()
  };

  const Submission& submission_;
  Budget& budget_;
  double call_limit_;
  std::vector<Seat> seats_;
};

}  // namespace prenorm::harness
