// What is known of each case from one save to the next.
#pragma once

#include "watch/attempt.hpp"

#include <set>

namespace prenorm::harness {

/// The verdicts on a submission while it changes.
class History {
 public:
  struct ProblemCount {
    std::string problem;
    std::size_t passed = 0, asked = 0;
    std::size_t waiting = 0;  // failed before the last save, and not run again yet
    bool written = false;     // some case found a function to call
  };

  /// A file was saved: verdicts from now on are compared with those of this moment.
  void saved();
  /// Adds a report's verdicts; of cases that it does not have, the earlier ones stay.
  void take(const Attempt& attempt);

  const Attempt& last() const { return last_; }
  bool empty() const { return now_.empty(); }
  /// One per problem, in the report's order.
  std::vector<ProblemCount> counts() const;
  /// Cases that failed at the last save and pass now, and the other way round.
  std::vector<const WatchedCase*> fixed() const;
  std::vector<const WatchedCase*> broken() const;
  /// The failing case to look at first: of what just broke, else of the first problem that fails;
  /// the smallest with elements to look at. What failed before the last save counts only until some
  /// case is run again. nullptr: none fails.
  const WatchedCase* first_failure() const;
  /// The failing cases of written problems, the smallest first, at most `most`.
  std::vector<const WatchedCase*> failing(std::size_t most) const;
  /// What explains a problem's failures; nullptr where nothing is known.
  const WatchedCause* cause(const std::string& problem) const;

 private:
  using Key = std::pair<std::string, std::string>;

  std::vector<const WatchedCase*> changed(bool passes) const;
  /// Whether a case's verdict is of an earlier save, while there are later ones.
  bool waits(const Key& key) const;

  Attempt last_;
  std::vector<Key> order_;
  std::map<Key, WatchedCase> now_;
  std::map<Key, bool> before_;
  std::set<Key> old_;  // not run since the last save
  std::map<std::string, WatchedCause> causes_;
};

}  // namespace prenorm::harness
