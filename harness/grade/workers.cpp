#include "grade/workers.hpp"

#include <algorithm>
#include <utility>

namespace prenorm::harness {

Workers::Workers(const Submission& submission, Budget& budget, std::vector<Solution> first,
                 std::size_t threads)
    : submission_(submission),
      budget_(budget),
      call_limit_(first.front().call_limit()),
      seats_(std::max<std::size_t>(1, threads)) {
  for (std::size_t i = 0; i < std::min(first.size(), seats_.size()); ++i) {
    seats_[i].solution = std::move(first[i]);
  }
}

Solution& Workers::fresh(std::size_t thread) {
  Seat& seat = seats_[thread];
  if (!seat.solution || (seat.used && !submission_.slow_to_start())) {
    seat.solution = submission_.solution();
  }
  seat.used = true;
  seat.counted = seat.solution->spent();
  seat.solution->limit_rest(budget_.left());
  seat.solution->limit_calls(call_limit_);
  if (submission_.slow_to_start()) seat.solution->begin_anew();
  return *seat.solution;
}

double Workers::spend(std::size_t thread) {
  Seat& seat = seats_[thread];
  const double until_now = seat.solution->spent();
  const double spent = until_now - std::exchange(seat.counted, until_now);
  budget_.spend(spent);
  seat.solution->limit_rest(budget_.left());
  return spent;
}

}  // namespace prenorm::harness
